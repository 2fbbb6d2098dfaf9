// The report's parts: what is escaped, what a chart draws, what a page holds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "host/report/chart.hpp"
#include "host/report/html.hpp"
#include "host/report/page.hpp"

namespace sfnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHostile = "<script>alert(1)</script>\"'&";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Html, EscapesWhatCouldEndTextOrAttribute) {
  EXPECT_EQ(escape("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(escape("caf\u00e9 \u2013"), "caf\u00e9 \u2013");
  EXPECT_EQ(escape("a\x1b[2Jb"), "a\uFFFD[2Jb");
  EXPECT_EQ(escape("\xff<"), "\uFFFD&lt;");
}

TEST(Html, DataUriIsBase64) {  // RFC 4648, section 10
  const std::string head = "data:image/png;base64,";
  EXPECT_EQ(png_data_uri(""), head);
  EXPECT_EQ(png_data_uri("f"), head + "Zg==");
  EXPECT_EQ(png_data_uri("fo"), head + "Zm8=");
  EXPECT_EQ(png_data_uri("foobar"), head + "Zm9vYmFy");
  EXPECT_EQ(png_data_uri("\xff\xfe\xfd"), head + "//79");
}

TEST(Chart, TicksAreRoundNumbersWithinTheRange) {
  EXPECT_THAT(ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(-125.3, -94, 4), ElementsAre(-120, -110, -100));
  EXPECT_THAT(ticks(1, 30, 6), ElementsAre(5, 10, 15, 20, 25, 30));
  EXPECT_THAT(log_ticks(1, 100), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT(log_ticks(1, 1e5), ElementsAre(1, 10, 100, 1000, 10000, 100000));
  EXPECT_LE(ticks(1, 1 + 3e-16, 5).size(), 16u) << "ends where steps are below rounding";
  EXPECT_EQ(number_text(ticks(-1, 1, 2)[1]), "0");
}

TEST(Chart, DrawsLinesWithinThePlotAndLeavesGaps) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg =
      to_svg({"Title", {"x"}, {"y"}, {{"a", {{1, 1}, {2, 2}, {3, kNan}, {4, 3}, {5, 4}}}}});
  EXPECT_EQ(count(svg, "<circle"), 4u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  // Two strokes: the line is taken up again after the gap.
  const std::size_t path = svg.find("<path class=\"line c0\"");
  ASSERT_NE(path, std::string::npos);
  EXPECT_EQ(count(svg.substr(path, svg.find('>', path) - path), "M"), 2u);
  EXPECT_EQ(count(svg, "class=\"legend\""), 0u) << "one series needs no legend";
}

TEST(Chart, EveryTextIsEscaped) {
  const std::string svg = to_svg({kHostile,
                                  {kHostile},
                                  {kHostile},
                                  {{kHostile, {{1, 1}, {2, 2}}}, {kHostile, {{1, 2}, {2, 1}}}}});
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_GT(count(svg, "&lt;script&gt;"), 5u);
}

TEST(Chart, OddDataStillGivesADrawing) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const std::vector<Point>& points : std::vector<std::vector<Point>>{{},
                                                                          {{1, 5}},
                                                                          {{1, kInf}},
                                                                          {{1, 7}, {2, 7}},
                                                                          {{1, 1e308}, {2, -1e308}},
                                                                          {{0, 1}, {-1, 2}}}) {
    for (const bool log : {false, true}) {
      const std::string svg = to_svg({"t", {"x", log}, {"y", log}, {{"s", points}}});
      EXPECT_THAT(svg, HasSubstr("</svg>"));
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
    }
  }
}

TEST(Chart, LongNamesAreCutBetweenLetters) {
  std::string name;
  for (int i = 0; i < 200; ++i) name += "\u00e9";
  const std::string svg = to_svg({"t", {"x"}, {"y"}, {{name, {{1, 1}}}, {"b", {{1, 2}}}}});
  EXPECT_THAT(svg, HasSubstr("\u00e9..."));
  EXPECT_THAT(svg, Not(HasSubstr("\uFFFD")));
}

ReportRun some_run(const std::string& name) {
  ReportRun run{.name = name, .path = name};
  run.network = {.D_in = 4, .hidden = {{.n_s = 3}}, .D_out = 2};
  run.metrics = {{.epoch = 1, .train_c_hat = -3.5, .valid_nll = 3.25},
                 {.epoch = 2, .train_c_hat = -2.5}};
  run.sessions = {{.started = "2026-01-31 12:30 UTC", .device = "cpu (AVX2, 2 threads)"}};
  LayerActivity layer{.layer = 1, .units = 3, .entropy = 0.4321};
  layer.histogram[0] = 1;
  Measured& measured = run.measured.emplace();
  measured.data_name = "points";
  measured.test.particles = 3;
  measured.test.nll = 2.125;
  measured.test.curve = {-3, -2.5, -2.125};
  measured.start = measured.trained = {layer};
  run.png = "\x89PNG";
  return run;
}

const ReportOrigin kOrigin{"0.1.0", "2026-01-31", "cpu"};

TEST(Report, HoldsEverySectionOfARun) {
  const std::string page = report_page({some_run("first")}, kOrigin);
  for (const char* text : {"<title>sfnn report: first</title>", "4-3s-2", "Training criterion",
                           "C_hat against M", "Hidden layer 1", "at the start", "0.432", "2.12",
                           "data:image/png;base64,iVBORw==", "net.hidden", "2026-01-31 12:30 UTC",
                           "cpu (AVX2, 2 threads)"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(Report, OnlyTheLikeIsCalledBest) {
  ReportRun a = some_run("a"), b = some_run("b"), other = some_run("other");
  b.measured->test.nll = 3.5;
  other.measured->test.nll = 1.5;
  other.measured->test.particles = 1000;  // more of them always look better
  const auto best = [](const char* nll) {
    return HasSubstr(std::string("<span class=\"best\">") + nll);
  };
  const std::string page = report_page({a, b, other}, kOrigin);
  EXPECT_THAT(page, best("2.12"));
  EXPECT_THAT(page, Not(best("1.50")));
  other.measured->test.particles = a.measured->test.particles;
  EXPECT_THAT(report_page({a, b, other}, kOrigin), best("1.50"));
  other.config.data.task = Task::classes;
  EXPECT_THAT(report_page({a, b, other}, kOrigin), Not(best("1.50")));
}

TEST(Report, RunsThatWereTestedAlikeStandUnderOneHeading) {
  const ReportRun a = some_run("a"), b = some_run("b");
  ReportRun few = some_run("few");
  few.measured->test.examples = 500;
  EXPECT_THAT(report_page({a, b}, kOrigin), Not(HasSubstr("Tested with")));
  const std::string page = report_page({a, few, b}, kOrigin);
  const std::string table = page.substr(0, page.find("</table>"));
  EXPECT_EQ(count(table, "Tested with"), 2u);
  EXPECT_THAT(table, HasSubstr("Tested with test examples = 500<"));
  const std::size_t heading = table.find("Tested with test examples = 500");
  EXPECT_LT(table.find(">b<"), heading) << "b stands with a";
  EXPECT_GT(table.find(">few<"), heading);
  EXPECT_THAT(table, HasSubstr("test examples</th>"));

  // What the page itself sets is the same for all.
  ReportRun limited = some_run("limited");
  limited.config.eval.particles = 7;
  EXPECT_THAT(report_page({a, limited}, kOrigin), HasSubstr("Tested with eval.particles = 7<"));
  ReportOrigin origin = kOrigin;
  origin.settings = {"eval.particles=3"};
  EXPECT_THAT(report_page({a, limited}, origin), Not(HasSubstr("Tested with")));
}

TEST(Report, FiguresHaveTheirErrors) {
  ReportRun run = some_run("a");
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr("sd of NLL")));
  run.measured->test.standard_error.nll = 0.25;
  run.measured->test.draws = 5;
  run.measured->test.draw_sd.nll = 0.0125;
  const std::string page = report_page({run}, kOrigin);
  EXPECT_THAT(page, HasSubstr(">2.12 \u00b1 0.25<"));
  EXPECT_THAT(page, HasSubstr("sd of NLL over 5 draws"));
  EXPECT_THAT(page, HasSubstr(">0.013<"));
}

TEST(Report, TheSearchForTheRateIsShown) {
  ReportRun run = some_run("a");
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr("Search for the learning rate")));
  run.config.train.learning_rate = 0.03;
  run.trials = {{0.1, {9.5}, TrialEnd::hopeless}, {0.03, {8.5, 7.25}, TrialEnd::finished}};
  const std::string page = report_page({run}, kOrigin);
  EXPECT_THAT(page, HasSubstr("given up: too slow"));
  EXPECT_THAT(page, HasSubstr("<span class=\"best\">0.03</span>"));
  EXPECT_THAT(page, HasSubstr(">7.25<"));
}

TEST(Report, SeedsAreAMeanWithABand) {
  std::vector<ReportRun> runs = {some_run("g3_seed=1"), some_run("g3_seed=2"), some_run("other")};
  runs[1].config.train.seed = 2;
  runs[1].metrics[0].train_c_hat = -4.5;
  runs[1].measured->test.nll = 4.125;
  runs[2].config.train.momentum = 0.5;
  const std::string page = report_page(runs, kOrigin);
  EXPECT_THAT(page, HasSubstr("g3 (2 seeds)"));
  EXPECT_THAT(page, HasSubstr(">3.125 \u00b1 1.414<"));
  EXPECT_THAT(page, HasSubstr("epoch 1, C_hat, nats \u22124<")) << "the mean of -3.5 and -4.5";
  EXPECT_THAT(page, HasSubstr("<path class=\"area c0\""));
  EXPECT_THAT(report_page({runs[0], runs[2]}, kOrigin), Not(HasSubstr("<h2>Seeds")));
}

TEST(Report, TheCaptionExplainsDashesIfThereAreAny) {
  ReportRun run = some_run("a");
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr("Dashed: the moving average")));
  run.metrics[0].average_valid_nll = 3;
  EXPECT_THAT(report_page({run}, kOrigin), HasSubstr("Dashed: the moving average"));
}

TEST(Report, WhatWasChangedForThePageIsSaid) {
  ReportOrigin origin = kOrigin;
  EXPECT_THAT(report_page({some_run("a")}, origin), Not(HasSubstr("not part of")));
  origin.settings = {"data.test_limit=500", "net.init_from=<b>"};
  EXPECT_THAT(report_page({some_run("a")}, origin),
              HasSubstr("made with data.test_limit=500, net.init_from=&lt;b&gt;, which is not"));
}

TEST(Report, EpochsAreWholeAndThoseBeyondThePlotAreSaid) {
  ReportRun run = some_run("first");
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr(">1.5<")));
  const auto page_after = [&](std::uint64_t epochs) {
    run.metrics.clear();
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch)
      run.metrics.push_back(
          {.epoch = epoch, .train_c_hat = epoch == 1 ? -900.0 : -3.0 - 0.1 * double(epoch % 2)});
    return report_page({run}, kOrigin);
  };
  EXPECT_THAT(page_after(21), HasSubstr("epoch 1 lies beyond the plot"));
  EXPECT_THAT(page_after(20), Not(HasSubstr("beyond the plot"))) << "a short run is shown whole";
}

TEST(Report, OnlyTheRunsWhoseEpochsLieBeyondThePlotAreSaidToBe) {
  const auto learning = [](const std::string& name, double first, double second) {
    ReportRun run = some_run(name);
    run.metrics.clear();
    for (std::uint64_t epoch = 1; epoch <= 30; ++epoch) {
      const double value = epoch == 1   ? first
                           : epoch == 2 ? second
                                        : -3.0 - 0.1 * double(epoch % 2);
      run.metrics.push_back({.epoch = epoch, .train_c_hat = value});
    }
    return run;
  };
  const ReportRun slow = learning("slow", -900, -90), fast = learning("fast", -3, -3),
                  middle = learning("middle", -900, -3);
  const auto note_of = [](const std::vector<ReportRun>& runs) {
    const std::string page = report_page(runs, kOrigin);
    const std::size_t end = page.find(" beyond the plot");
    if (end == std::string::npos) return std::string();
    const std::size_t begin = page.rfind('>', end) + 1;
    return page.substr(begin, end - begin);
  };
  EXPECT_EQ(note_of({fast}), "");
  EXPECT_EQ(note_of({slow}), "epochs up to 2 lie");
  EXPECT_EQ(note_of({slow, slow}), "epochs up to 2 lie");
  EXPECT_EQ(note_of({slow, fast}), "early epochs of slow lie");
  EXPECT_EQ(note_of({slow, fast, middle}), "early epochs of slow, middle lie");
  const ReportRun long_name = learning(std::string(60, 'x'), -900, -3);
  EXPECT_EQ(note_of({slow, fast, long_name}), "early epochs of 2 of 3 runs lie");
}

std::string chart_of(const std::string& page, const std::string& title) {
  const std::size_t begin = page.find("aria-label=\"" + title + "\"");
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("</figure>", begin) - begin);
}

TEST(Report, ADeterministicRunIsALineAcrossTheCurves) {
  ReportRun stochastic = some_run("drawn"), fixed = some_run("plain");
  fixed.network.hidden = {{.n_d = 3}};
  fixed.measured->test.curve = {-2.75};
  fixed.measured->test.nll = 2.75;
  const std::string page = report_page({stochastic, fixed}, kOrigin);
  const std::string chart = chart_of(page, "C_hat against M");
  EXPECT_THAT(chart, HasSubstr(">plain, deterministic</text>"));
  EXPECT_THAT(chart, HasSubstr("M, particles 3, C_hat on the test examples, nats \u22122.75"));
  EXPECT_EQ(chart_of(report_page({fixed}, kOrigin), "C_hat against M"), "") << "nothing to compare";
  fixed.own_test = fixed.measured->test;  // the data are not here
  fixed.measured.reset();
  EXPECT_THAT(chart_of(report_page({stochastic, fixed}, kOrigin), "C_hat against M"),
              HasSubstr(">plain, deterministic</text>"));
}

TEST(Report, RunsOnOtherDataHaveChartsOfTheirOwn) {
  ReportRun a = some_run("a"), same = some_run("same"), other = some_run("other");
  same.config.data.task = Task::halves;  // which auto stands for
  other.config.data.task = Task::classes;
  other.measured->data_name = "classes of points";
  const std::string page = report_page({a, same, other}, kOrigin);
  for (const char* title : {"Training criterion", "Validation", "C_hat against M"}) {
    EXPECT_EQ(chart_of(page, title), "");
    const std::string first = chart_of(page, title + std::string(": points")),
                      second = chart_of(page, title + std::string(": classes of points"));
    EXPECT_THAT(first, HasSubstr(">same</text>"));
    EXPECT_THAT(first, Not(HasSubstr(">other</text>")));
    EXPECT_THAT(second, HasSubstr("<path class=\"line c2\"")) << "the run keeps its colour";
    EXPECT_EQ(count(second, "class=\"legend\""), 1u);
  }
  EXPECT_THAT(chart_of(report_page({a, same}, kOrigin), "Validation"), HasSubstr(">same</text>"));
  a.measured.reset(), same.measured.reset(), other.measured.reset();
  EXPECT_THAT(chart_of(report_page({a, other}, kOrigin), "Validation: glyphs classes"),
              HasSubstr(">other</text>"));
  other.config.data.set = "files", other.config.data.task = Task::automatic;
  other.config.data.train_x = "/data/x.npy", other.config.data.train_y = "y.npy";
  EXPECT_THAT(chart_of(report_page({a, other}, kOrigin), "Validation: x.npy to y.npy"),
              HasSubstr(">other</text>"));
}

TEST(Report, EpochsAreShownInPartsUnlessThereAreMany) {
  ReportRun run = some_run("a");
  run.metrics[0].train_c_hat_within = {-5, -4};
  run.metrics[1].train_c_hat_within = {-3, -2};
  const std::string chart =
      chart_of(report_page({run}, kOrigin), "Training criterion within epochs");
  EXPECT_EQ(count(chart, "<circle"), 4u);
  EXPECT_THAT(chart, HasSubstr("epoch 0.5, C_hat, nats, means over tenths of an epoch \u22125<"));
  EXPECT_THAT(chart, HasSubstr("epoch 2, C_hat, nats, means over tenths of an epoch \u22122<"));
  run.metrics[1].epoch = 101;
  EXPECT_EQ(chart_of(report_page({run}, kOrigin), "Training criterion within epochs"), "");
}

TEST(Report, ClassesTakenForOthersAreAMatrix) {
  ReportRun run = some_run(kHostile);
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr("Classes taken for others")));
  run.measured->test.confusion = {7, 1, 2, 10};
  const std::string page = report_page({run}, kOrigin);
  EXPECT_THAT(page, HasSubstr("class 1 taken for 0: 2 of 12<"));
  EXPECT_THAT(page,
              HasSubstr("<li>1 taken for 0: 2 of 12 (16.7 %)</li>\n<li>0 taken for 1: 1 of 8"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  run.measured->test.confusion = {8, 0, 0, 12};
  EXPECT_THAT(report_page({run}, kOrigin), HasSubstr("No mistakes"));
}

TEST(Report, ChartsAndNumbersAreFilesToo) {
  std::vector<ReportRun> runs = {some_run("a, \"b\""), some_run("c")};
  runs[0].measured->test.standard_error.nll = 0.25;
  runs[1].measured->test.confusion = {7, 1, 2, 10};
  runs[1].config.train.seed = 2;  // one group of two seeds
  std::map<std::string, std::string> files;
  for (const ReportFile& file : report_files(runs)) files[file.name] = file.content;
  EXPECT_EQ(files.size(), report_files(runs).size()) << "no name twice";
  for (const char* name : {"training-criterion.svg", "validation.csv", "c_hat-against-m.svg",
                           "hidden-layer-1.csv", "classes-c.svg", "classes-c.csv"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  EXPECT_EQ(files["final-figures.csv"],
            "run,test NLL,standard error of test NLL,test M,\"effective particles, test\",train "
            "C_hat\n\"a, \"\"b\"\"\",2.125,0.25,3,1,-2.5\nc,2.125,,3,1,-2.5\n");
  EXPECT_EQ(files["training-criterion.csv"],
            "series,epoch,\"C_hat, nats\",low,high\n\"a, \"\"b\"\" (2 seeds)\",1,-3.5,-3.5,-3.5\n"
            "\"a, \"\"b\"\" (2 seeds)\",2,-2.5,-2.5,-2.5\n");
  EXPECT_EQ(files["classes-c.csv"], "class,taken for 0,taken for 1\n0,7,1\n1,2,10\n");
  for (const auto& [name, content] : files) {
    if (!name.ends_with(".svg")) continue;
    EXPECT_THAT(content, testing::StartsWith("<svg xmlns=")) << name;
    EXPECT_THAT(content, Not(HasSubstr("var("))) << name << ": image viewers know no variables";
  }
}

TEST(Report, APageOfALivingRunReloadsItself) {
  ReportRun run = some_run("a");
  run.state.epoch = 2;
  run.config.train.epochs = 7;
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr("http-equiv=\"refresh\"")));
  ReportOrigin origin = kOrigin;
  origin.reload_seconds = 5;
  const std::string page = report_page({run}, origin);
  EXPECT_THAT(page, HasSubstr("<meta http-equiv=\"refresh\" content=\"5\">"));
  EXPECT_THAT(page, HasSubstr("In training: 2 of 7 epochs are done"));
}

// Lightness and two opponent colours, in which equal distances look about equal (CIELAB).
std::array<double, 3> lab(const std::string& rgb) {
  std::array<double, 3> linear{};
  for (std::size_t k = 0; k < 3; ++k) {
    const double value = std::stoi(rgb.substr(1 + 2 * k, 2), nullptr, 16) / 255.0;
    linear[k] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  const auto [r, g, b] = linear;
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047),
               y = f(0.2126 * r + 0.7152 * g + 0.0722 * b),
               z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST(Report, TwelveRunsHaveTwelveColoursThatDiffer) {
  const std::string css = color_scheme();
  const std::size_t dark = css.find("prefers-color-scheme:dark");
  for (const std::string& scheme : {css.substr(0, dark), css.substr(dark)}) {
    std::vector<std::array<double, 3>> colors;
    for (int c = 0; c < 12; ++c) {
      const std::string name = fmt::format("--c{}:", c);
      ASSERT_THAT(scheme, HasSubstr(name));
      colors.push_back(lab(scheme.substr(scheme.find(name) + name.size(), 7)));
      for (int other = 0; other < c; ++other) {
        double squares = 0;
        for (std::size_t k = 0; k < 3; ++k)
          squares += std::pow(colors[std::size_t(c)][k] - colors[std::size_t(other)][k], 2);
        EXPECT_GT(std::sqrt(squares), 25) << c << " and " << other;
      }
    }
  }
  std::vector<ReportRun> runs;
  for (int r = 0; r < 12; ++r) {
    runs.push_back(some_run(fmt::format("run {}", r)));
    runs.back().config.train.learning_rate = 0.1 + r;
  }
  const std::string chart = chart_of(report_page(runs, kOrigin), "Training criterion");
  for (int r = 0; r < 12; ++r)
    EXPECT_THAT(chart, HasSubstr(fmt::format("<path class=\"line c{}\"", r)));
}

TEST(Report, TheHighestBarEndsBelowTheFrame) {
  const std::string svg = chart_of(report_page({some_run("a")}, kOrigin), "Hidden layer 1");
  const std::size_t plot = svg.find("<svg x=");  // x y width height
  double top = 0, bar = 0;
  ASSERT_EQ(std::sscanf(svg.c_str() + svg.find("y=\"", plot), "y=\"%lf", &top), 1);
  const std::size_t area = svg.find("class=\"area", plot);
  ASSERT_EQ(std::sscanf(svg.c_str() + svg.find(" d=\"M", area), " d=\"M%*f %lf", &bar), 1);
  EXPECT_GT(bar, top + 24) << "a tenth of the plot";
}

TEST(Report, ALayerThatOneOfSeveralRunsHasIsNamed) {
  ReportRun deep = some_run("deep"), flat = some_run("flat");
  flat.measured->trained.clear();
  const std::string page = report_page({deep, flat}, kOrigin);
  const std::string svg = chart_of(page, "Hidden layer 1");
  EXPECT_EQ(count(svg, "class=\"legend\""), 1u);
  EXPECT_THAT(svg, HasSubstr(">deep</text>"));
}

TEST(Report, NothingFromAFileBecomesMarkup) {
  ReportRun run = some_run(kHostile);
  run.path = run.note = run.measured->data_name = kHostile;
  run.config.data.set = kHostile;
  run.metrics.push_back({.warnings = {kHostile, kHostile + std::string("2"), "7"}});
  run.sessions.push_back(
      {.started = kHostile, .device = kHostile, .cpu = kHostile, .version = kHostile});
  const std::string page = report_page({run, run}, {kHostile, kHostile, kHostile});
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_GT(count(page, "&lt;script&gt;"), 15u);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Report, WarningsAreListedWithTheirEpochs) {
  ReportRun run = some_run("a");
  EXPECT_THAT(report_page({run}, kOrigin), Not(HasSubstr("<h2>Warnings</h2>")));
  run.metrics[1].warnings = {"units are stuck", "particles have collapsed"};
  run.metrics.push_back({.epoch = 3, .warnings = {"units are stuck"}});
  const std::string page = report_page({run}, kOrigin);
  EXPECT_THAT(page, HasSubstr("a: units are stuck, in 2 of 3 epochs"));
  EXPECT_THAT(page, HasSubstr("a: particles have collapsed, in 1 of 3 epochs"));
}

// A file that others made may have any number: to look for each among all the others would take
// minutes.
TEST(Report, ManyWarningsTakeLittleTime) {
  ReportRun run = some_run("a");
  for (int i = 0; i < 200'000; ++i) run.metrics[1].warnings.push_back(fmt::format("{:06}", i));
  const auto begin = std::chrono::steady_clock::now();
  const std::string page = report_page({run}, kOrigin);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_NE(page.find("a: 199999, in 1 of 2 epochs"), std::string::npos);
}

TEST(Report, DifferencesBetweenConfigsStandOut) {
  ReportRun a = some_run("a"), b = some_run("b");
  b.config.train.particles = 50;
  const std::string page = report_page({a, b}, kOrigin);
  EXPECT_EQ(count(page, "<tr class=\"differs\">"), 1u);
  EXPECT_THAT(page, HasSubstr("<tr class=\"differs\"><th scope=\"row\">train.particles</th>"
                              "<td>20</td><td>50</td></tr>"));
  EXPECT_THAT(report_page({a, a}, kOrigin), HasSubstr("The runs have the same config."));
}

// A network without stochastic units has no estimator, whatever its config says.
TEST(Report, ConfigValuesThatChangeNothingAreNoDifferences) {
  ReportRun a = some_run("a"), fixed = some_run("fixed");
  fixed.network.hidden = {{.n_d = 3}};
  fixed.config.train.particles = 50;
  fixed.config.train.estimator = Estimator::G1;
  const auto row = [&](const std::string& key, const std::string& value) {
    return HasSubstr("<th scope=\"row\">" + key + "</th><td>" + value + "</td></tr>");
  };
  const std::string both = report_page({a, fixed}, kOrigin);
  EXPECT_EQ(count(both, "<tr class=\"differs\">"), 0u);
  EXPECT_THAT(both, row("train.particles", "20"));
  const std::string alone = report_page({fixed}, kOrigin);
  EXPECT_THAT(alone, row("train.particles", "\u2013"));
  EXPECT_THAT(alone, row("train.estimator", "\u2013"));
  EXPECT_THAT(alone, row("eval.particles", "\u2013"));
  ReportRun more = some_run("more");
  more.config.train.particles = 50;
  EXPECT_THAT(report_page({a, more, fixed}, kOrigin),
              HasSubstr("train.particles</th><td>20</td><td>50</td><td>\u2013</td></tr>"));
}

}  // namespace
}  // namespace sfnn
