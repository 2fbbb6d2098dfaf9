#include "host/formats/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

#include "host/base/error.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

// What is called in place of fsync: nothing else shows that it was, short of a power cut.
std::function<int(int fd)> sync_instead;

}  // namespace

// Linked before the C library's own.
extern "C" int fsync(int fd) {
  return sync_instead ? sync_instead(fd) : int(::syscall(SYS_fsync, fd));
}

namespace sfnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

class AtomicFile : public ::testing::Test {
 protected:
  std::string content(const fs::path& path) const { return read_file(path, 1 << 20); }
  bool only_holds(const std::string& name) const {
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      if (entry.path().filename() != name) return false;
    }
    return true;
  }

  TemporaryDirectory directory_;
  const fs::path file_ = directory_.path() / "weights";
};

// The message of a write that fails, seen by a child process that `prepare` has made less able than
// we are.
std::string failure_in_child(const fs::path& path, std::size_t bytes,
                             const std::function<void()>& prepare) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    prepare();
    std::string message = "no error";
    try {
      write_file_atomically(path, std::string(bytes, 'x'));
    } catch (const Error& e) {
      message = e.what();
    }
    const bool told = ::write(ends[1], message.data(), message.size()) == ssize_t(message.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string message(1000, '\0');
  const ssize_t size = ::read(ends[0], message.data(), message.size());
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || size < 0) return "the child died";
  message.resize(std::size_t(size));
  return message;
}

TEST_F(AtomicFile, WritesAndReplaces) {
  write_file_atomically(file_, "one");
  EXPECT_EQ(content(file_), "one");
  const std::string zeros("\0two\0", 5);
  write_file_atomically(file_, zeros);
  EXPECT_EQ(content(file_), zeros);
  write_file_atomically(file_, "");
  EXPECT_EQ(content(file_), "");
  EXPECT_TRUE(only_holds("weights"));
}

TEST_F(AtomicFile, HasTheModeThatAnyNewFileHas) {
  const mode_t mask = ::umask(0027);
  write_file_atomically(file_, "one");
  ::umask(mask);
  struct stat facts {};
  ASSERT_EQ(::stat(file_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(AtomicFile, KnowsItsTemporaries) {
  EXPECT_EQ(target_of_temporary("weights.4711-0.tmp"), "weights");
  EXPECT_EQ(target_of_temporary("a.b.1-23.tmp"), "a.b");
  for (const char* name : {"weights", "weights.tmp", "weights.4711.tmp", "weights.4711-.tmp",
                           "weights.-0.tmp", "weights4711-0.tmp", "weights.4711-0", "1-0.tmp", ""})
    EXPECT_EQ(target_of_temporary(name), std::nullopt) << name;
}

// As two reports of one run are.
TEST_F(AtomicFile, WritersOfOneFileDoNotMeet) {
  const auto write_often = [&](char letter) {
    for (int i = 0; i < 200; ++i) write_file_atomically(file_, std::string(1000, letter));
  };
  std::thread other(write_often, 'a');
  EXPECT_NO_THROW(write_often('b'));
  other.join();
  const std::string text = content(file_);
  EXPECT_EQ(text, std::string(1000, text[0]));
  EXPECT_TRUE(only_holds("weights"));
}

// In a directory that others made, the temporary's name may be anything.
TEST_F(AtomicFile, OpensAndReplacesNothingInPlaceOfTheTemporary) {
  const fs::path precious = directory_.path() / "precious",
                 temporary = file_.string() + "." + std::to_string(::getpid()) + "-0.tmp";
  write_file_atomically(precious, "mine");
  write_file_atomically(file_.string() + ".tmp", "mine");
  for (const auto& put :
       std::vector<std::function<void()>>{[&] { fs::create_symlink(precious, temporary); },
                                          [&] { fs::create_hard_link(precious, temporary); },
                                          [&] { ASSERT_EQ(::mkfifo(temporary.c_str(), 0666), 0); },
                                          [&] { fs::create_directories(temporary); }}) {
    put();
    const auto type = fs::symlink_status(temporary).type();
    write_file_atomically(file_, "new");
    EXPECT_EQ(content(precious), "mine");
    EXPECT_EQ(content(file_), "new");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file_)));
    EXPECT_EQ(fs::symlink_status(temporary).type(), type);
    fs::remove(temporary);
    fs::remove(file_);
  }
  EXPECT_EQ(content(file_.string() + ".tmp"), "mine");
}

TEST_F(AtomicFile, ReadingDoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0666), 0);
  EXPECT_THROW(content(file_), DataError);
}

class Syncing : public AtomicFile {
 protected:
  ~Syncing() override { sync_instead = nullptr; }
  // The i-th call fails; each is noted with what it would see of the file.
  void fail_at(int i) {
    sync_instead = [this, i](int fd) {
      struct stat facts {};
      EXPECT_EQ(::fstat(fd, &facts), 0);
      const fs::path target = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
      calls_.push_back(target.filename().string() +
                       (fs::exists(file_) ? ", " + content(file_) : ""));
      EXPECT_TRUE(!S_ISREG(facts.st_mode) || facts.st_size == 3) << "all bytes are written";
      errno = EIO;
      return int(calls_.size()) == i ? -1 : 0;
    };
  }
  const std::string here_ = directory_.path().filename().string();
  std::vector<std::string> calls_;
};

// The bytes before the name, and the name before the end.
TEST_F(Syncing, TheFileIsSyncedBeforeItsRenameAndTheDirectoryAfterIt) {
  write_file_atomically(file_, "old");
  fail_at(0);
  write_file_atomically(file_, "new");
  EXPECT_THAT(calls_, ElementsAre("weights." + std::to_string(::getpid()) + "-0.tmp, old",
                                  here_ + ", new"));
}

TEST_F(Syncing, ADiskThatCannotSyncIsAnError) {
  for (const int failing : {1, 2}) {
    write_file_atomically(file_, "old");
    calls_.clear();
    fail_at(failing);
    try {
      write_file_atomically(file_, "new");
      ADD_FAILURE() << "no error";
    } catch (const SaveError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot be synced to disk: Input/output error"));
    }
    EXPECT_EQ(content(file_), failing == 1 ? "old" : "new");
    EXPECT_TRUE(only_holds("weights"));
    sync_instead = nullptr;
  }
}

TEST_F(Syncing, NewDirectoriesAreSyncedInTheirParents) {
  fail_at(0);
  make_directories(directory_.path() / "a/b/");
  make_directories(directory_.path() / "a");
  EXPECT_THAT(calls_, ElementsAre(here_, "a"));
  EXPECT_TRUE(fs::is_directory(directory_.path() / "a/b"));
  fail_at(3);
  EXPECT_THROW(make_directories(directory_.path() / "c"), SaveError);
}

TEST_F(Syncing, ALineOfMetricsIsSyncedToo) {
  int failing = 0;
  std::vector<std::string> synced;
  sync_instead = [&](int fd) {
    synced.push_back(fs::read_symlink("/proc/self/fd/" + std::to_string(fd)).filename().string());
    return int(synced.size()) == failing ? -1 : 0;
  };
  append_metrics(file_, {{"epoch", 1}});
  append_metrics(file_, {{"epoch", 2}});
  EXPECT_THAT(synced, ElementsAre("weights", here_, "weights")) << "a new name once";
  for (const int call : {1, 2}) {
    synced.clear();
    failing = call;
    fs::remove(file_);
    EXPECT_THROW(append_metrics(file_, {{"epoch", 1}}), SaveError);
  }
}

TEST_F(AtomicFile, ADirectoryThatCannotBeMadeIsNamed) {
  write_file_atomically(file_, "a file");
  for (const fs::path& path : {file_, file_ / "below"}) {
    try {
      make_directories(path);
      ADD_FAILURE() << path;
    } catch (const SaveError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("cannot make the directory " + file_.string() + ": File exists"));
    }
  }
}

// RLIMIT_FSIZE stands for the full disk: the write stops half-way with an error.
TEST_F(AtomicFile, FullDiskLeavesTheOldFile) {
  write_file_atomically(file_, "old");
  const std::string message = failure_in_child(file_, 100'000, [] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{5000, 5000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_THAT(message,
              AllOf(HasSubstr(file_.string()), HasSubstr("cannot be written: File too large")));
  EXPECT_EQ(content(file_), "old");
  EXPECT_TRUE(only_holds("weights"));
}

TEST_F(AtomicFile, ReadOnlyDirectoryIsNamed) {
  write_file_atomically(file_, "old");
  fs::permissions(directory_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const std::string message = failure_in_child(file_, 10, [] {
    // Root may write anywhere, so the child becomes somebody else, for whom the directory is
    // closed.
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
  });
  fs::permissions(directory_.path(), fs::perms::owner_all);
  EXPECT_THAT(message, AllOf(HasSubstr(file_.string()), HasSubstr("Permission denied")));
  EXPECT_EQ(content(file_), "old");
}

TEST_F(AtomicFile, FailedRenameRemovesTheTemporary) {
  fs::create_directories(file_ / "occupied");
  EXPECT_THROW(write_file_atomically(file_, "new"), Error);
  EXPECT_TRUE(only_holds("weights"));
}

TEST_F(AtomicFile, MissingDirectoryIsAnError) {
  EXPECT_THROW(write_file_atomically(directory_.path() / "no" / "weights", "new"), Error);
}

// --- paths that the user named
// ----------------------------------------------------------------------

class Output : public AtomicFile {
 protected:
  // Identifies a file, or says what else it is.
  static auto identity(const fs::path& path) {
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0);
    return std::tuple(facts.st_ino, facts.st_mode);
  }
  static std::string refusal(const fs::path& path) {
    try {
      write_output(path, "new");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(Output, AFileIsReplaced) {
  for (const char* text : {"one", "two"}) {
    write_output(file_, text);
    EXPECT_EQ(content(file_), text);
  }
  EXPECT_TRUE(only_holds("weights"));
}

TEST_F(Output, APipeIsWrittenIntoAlsoByALink) {
  const fs::path pipe = directory_.path() / "pipe", link = directory_.path() / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  fs::create_symlink(pipe, link);
  const auto before = identity(pipe);
  const FileDescriptor reader(pipe, O_RDONLY | O_NONBLOCK);
  for (const fs::path& path : {pipe, link}) {
    write_output(path, "text");
    char got[10];
    EXPECT_EQ(::read(reader.get(), got, sizeof got), 4) << path;
    EXPECT_EQ(identity(pipe), before) << path;
    EXPECT_TRUE(fs::is_symlink(link));
  }
}

TEST_F(Output, ADeviceStays) {
  const fs::path device = directory_.path() / "null";
  if (::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "devices are made by root";
  if (!FileDescriptor(device, O_WRONLY).is_open()) GTEST_SKIP() << "no device works here";
  const auto before = identity(device);
  write_output(device, "text");
  EXPECT_EQ(identity(device), before);
}

TEST_F(Output, WhatIsNoFileIsLeftAsItIs) {
  write_output(file_, "mine");
  const fs::path link = directory_.path() / "link", nowhere = directory_.path() / "nowhere",
                 folder = directory_.path() / "folder";
  fs::create_symlink(file_, link);
  fs::create_symlink(directory_.path() / "absent", nowhere);
  fs::create_directory(folder);
  for (const fs::path& path : {link, nowhere, folder}) {
    const auto before = identity(path);
    EXPECT_THAT(refusal(path), HasSubstr(path.string() + " is a "));
    EXPECT_EQ(identity(path), before);
  }
  EXPECT_EQ(content(file_), "mine");
  EXPECT_FALSE(fs::exists(directory_.path() / "absent"));
}

TEST_F(AtomicFile, ReadingIsBounded) {
  write_file_atomically(file_, "12345");
  EXPECT_EQ(read_file(file_, 5), "12345");
  EXPECT_THROW(read_file(file_, 4), DataError);
  EXPECT_THROW(read_file(directory_.path(), 5), DataError);
  EXPECT_THROW(read_file(directory_.path() / "none", 5), DataError);
}

}  // namespace
}  // namespace sfnn
