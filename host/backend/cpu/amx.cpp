#include "host/backend/cpu/amx.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sfnn {
namespace {

// g++ assembles these instructions in any function; clang only where they are announced.
#ifdef __clang__
#define SFNN_AMX __attribute__((target("amx-tile,amx-int8")))
#else
#define SFNN_AMX
#endif

// The registers of the calling thread, configured as eight whole tiles. They are released in the
// end: a thread whose tiles are empty is cheaper to switch, and the processor may rest.
class AmxTiles {
  struct Tile {
    std::byte bytes[kTileBytes];
  };

 public:
  SFNN_AMX AmxTiles() {
    struct alignas(64) Config {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } config;
    static_assert(sizeof(Config) == 64);
    for (int t = 0; t < 8; ++t) {
      config.row_bytes[t] = kTileInputs;
      config.rows[t] = kTileRows;
    }
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  SFNN_AMX ~AmxTiles() { asm volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  template <int t>
  SFNN_AMX void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(t));
  }
  template <int t>
  SFNN_AMX void load(const void* from) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(kTileInputs), "i"(t),
                 "m"(*static_cast<const Tile*>(from)));
  }
  // sums += A B, A unsigned and B signed
  template <int sums, int A, int B>
  SFNN_AMX void multiply_add() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(A), "i"(B));
  }
  template <int t>
  SFNN_AMX void store(void* to) {
    asm volatile("tilestored %%tmm%c3, (%1,%2,1)"
                 : "=m"(*static_cast<Tile*>(to))
                 : "r"(to), "r"(kTileInputs), "i"(t));
  }
};

bool has_byte_tiles() {
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;  // EDX of leaf 7
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  return (edx & kTile) && (edx & kInt8);
}

// Linux gives a process the registers' 8 KB of state only if it asks (since 5.16). The permission
// holds for all of its threads.
bool may_use_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Amx find_amx() {
  if (!has_byte_tiles()) return Amx::absent;
  return may_use_tiles() ? Amx::usable : Amx::refused;
}

}  // namespace

Amx amx() {
  static const Amx found = find_amx();
  return found;
}

TileKernel amx_kernel() { return amx() == Amx::usable ? tile_kernel<AmxTiles> : nullptr; }

}  // namespace sfnn

#else

namespace sfnn {

Amx amx() { return Amx::absent; }

TileKernel amx_kernel() { return nullptr; }

}  // namespace sfnn

#endif

namespace sfnn {

std::string_view to_string(Amx amx) {
  switch (amx) {
    case Amx::usable:
      return "AMX";
    case Amx::absent:
      return "this processor has no AMX";
    case Amx::refused:
      return "AMX refused by the operating system";
  }
  return "";
}

}  // namespace sfnn
