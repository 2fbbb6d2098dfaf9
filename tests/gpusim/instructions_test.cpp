// Single PTX instructions against the manual's semantics, and the refusal of unknown ones.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "tests/gpusim/device_array.hpp"
#include "tests/gpusim/simulator.hpp"

namespace sfnn::gpusim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string module_text(const std::string& body) {
  return ".version 9.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry probe(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
         ".reg .b64 %rd<9>;\n"
         "ld.param.u64 %rd0, [out];\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, "
         "[b];\nld.param.u64 %rd3, [c];\n"
         "mov.b64 %rd4, 0;\n" +
         body + "\nst.global.b64 [%rd0], %rd4;\nret;\n}\n";
}

// Runs "instruction %rd4, ..." on operands %rd1, %rd2, %rd3; returns %rd4.
Slot run(const std::string& body, Slot a = 0, Slot b = 0, Slot c = 0) {
  static std::vector<std::unique_ptr<Module>>& modules = *new std::vector<std::unique_ptr<Module>>;
  modules.push_back(load_module("probe.ptx", module_text(body)));
  probes::DeviceArray<Slot> out(1);
  const Slot params[] = {Slot(out.data()), a, b, c};
  std::vector<std::uint8_t> bytes(sizeof params);
  std::memcpy(bytes.data(), params, sizeof params);
  Simulator::get().run(*modules.back()->kernels.at("probe"), {1, 1, 1}, {1, 1, 1}, 0, bytes);
  return out.to_host()[0];
}

template <class T>
Slot bits(T value) {
  Slot s;
  put(s, value);
  return s;
}
float run_float(const std::string& body, float a, float b = 0, float c = 0) {
  return get<float>(run(body, bits(a), bits(b), bits(c)));
}

TEST(Instructions, IntegerArithmeticWraps) {
  EXPECT_EQ(run("add.s32 %rd4, %rd1, %rd2;", 0x7fffffff, 1), 0x80000000u);
  EXPECT_EQ(run("add.sat.s32 %rd4, %rd1, %rd2;", 0x7fffffff, 1), 0x7fffffffu);
  EXPECT_EQ(run("sub.u16 %rd4, %rd1, %rd2;", 0, 1), 0xffffu);
  EXPECT_EQ(run("mul.hi.u32 %rd4, %rd1, %rd2;", 0xffffffff, 0xffffffff), 0xfffffffeu);
  EXPECT_EQ(run("mul.wide.s32 %rd4, %rd1, %rd2;", Slot(-3), 5), Slot(-15));
  EXPECT_EQ(run("mad.lo.s64 %rd4, %rd1, %rd2, %rd3;", 7, Slot(-2), 1), Slot(-13));
  EXPECT_EQ(run("div.s32 %rd4, %rd1, %rd2;", bits(-7), 2), bits(-3));
  EXPECT_EQ(run("rem.s64 %rd4, %rd1, %rd2;", Slot(-7), 4), Slot(-3));
  EXPECT_EQ(run("abs.s32 %rd4, %rd1;", bits(-9)), 9u);
  EXPECT_EQ(run("dp4a.s32.s32 %rd4, %rd1, %rd2, %rd3;", 0x01ff0203, 0x02030405, 10),
            Slot(10 + 2 - 3 + 8 + 15));
}

TEST(Instructions, CarriesJoinWords) {
  EXPECT_EQ(run("add.cc.u32 %rd5, %rd1, %rd2;\naddc.u32 %rd4, %rd3, 0;", 0xffffffff, 1, 41), 42u);
  EXPECT_EQ(run("sub.cc.u32 %rd5, %rd1, %rd2;\nsubc.u32 %rd4, %rd3, 0;", 0, 1, 41), 40u);
  EXPECT_EQ(run("mad.lo.cc.u32 %rd5, %rd1, %rd2, %rd3;\nmadc.hi.u32 %rd4, %rd1, %rd2, 0;",
                0xffffffff, 2, 4),
            2u);
}

TEST(Instructions, BitsAndShifts) {
  EXPECT_EQ(run("shl.b32 %rd4, %rd1, %rd2;", 1, 32), 0u);
  EXPECT_EQ(run("shr.s32 %rd4, %rd1, %rd2;", 0x80000000, 40), 0xffffffffu);
  EXPECT_EQ(run("bfe.u32 %rd4, %rd1, %rd2, %rd3;", 0xabcd1234, 8, 8), 0x12u);
  EXPECT_EQ(run("bfe.s32 %rd4, %rd1, %rd2, %rd3;", 0x00000f00, 8, 4), 0xffffffffu);
  EXPECT_EQ(run("bfi.b32 %rd4, %rd1, %rd2, 4, 8;", 0xff, 0), 0xff0u);
  EXPECT_EQ(run("prmt.b32 %rd4, %rd1, %rd2, %rd3;", 0x33221180, 0x77665544, 0x8174), 0xff117744u);
  EXPECT_EQ(run("shf.r.wrap.b32 %rd4, %rd1, %rd2, %rd3;", 0x1, 0x2, 1), 0u);
  EXPECT_EQ(run("lop3.b32 %rd4, %rd1, %rd2, %rd3, 0x96;", 0xf0, 0xcc, 0xaa),
            Slot(0xf0 ^ 0xcc ^ 0xaa));
  EXPECT_EQ(run("bfind.u32 %rd4, %rd1;", 0), 0xffffffffu);
  EXPECT_EQ(run("bmsk.clamp.b32 %rd4, %rd1, %rd2;", 4, 8), 0xff0u);
  EXPECT_EQ(run("{ .reg .b32 lo, hi; mov.b64 {lo, hi}, %rd1; mov.b64 %rd4, {hi, lo}; }",
                0x1111111122222222),
            0x2222222211111111u);
}

TEST(Instructions, FloatsRoundAsAsked) {
  const float third = 1.0f / 3, up = std::nextafter(third, 1.0f), tiny = 1e-40f;
  EXPECT_EQ(run_float("div.rn.f32 %rd4, %rd1, %rd2;", 1, 3), third);
  EXPECT_EQ(run_float("div.rz.f32 %rd4, %rd1, %rd2;", 1, 3), std::nextafter(third, 0.0f));
  EXPECT_EQ(run_float("div.rp.f32 %rd4, %rd1, %rd2;", 1, 3), third);
  EXPECT_EQ(run_float("rcp.rn.f32 %rd4, %rd1;", 3), third);
  EXPECT_LT(run_float("rcp.rm.f32 %rd4, %rd1;", 3), up);
  EXPECT_EQ(run_float("fma.rn.f32 %rd4, %rd1, %rd2, %rd3;", 1 + 0x1p-12f, 1 + 0x1p-12f, -1),
            0x1p-11f + 0x1p-24f);
  EXPECT_EQ(run_float("fma.rn.sat.f32 %rd4, %rd1, %rd2, %rd3;", 3, 3, 1), 1.0f);
  EXPECT_EQ(run_float("add.ftz.f32 %rd4, %rd1, %rd2;", tiny, 0), 0.0f);
  EXPECT_EQ(run_float("add.f32 %rd4, %rd1, %rd2;", tiny, 0), tiny);
  EXPECT_EQ(run_float("min.f32 %rd4, %rd1, %rd2;", NAN, 2), 2.0f);
  EXPECT_TRUE(std::signbit(run_float("min.f32 %rd4, %rd1, %rd2;", 0.0f, -0.0f)));
  EXPECT_NEAR(run_float("ex2.approx.ftz.f32 %rd4, %rd1;", 1.5f), std::exp2(1.5), 3e-7);
  EXPECT_NEAR(run_float("lg2.approx.f32 %rd4, %rd1;", 10), std::log2(10.0), 3e-7);
  EXPECT_EQ(
      get<double>(run("fma.rn.f64 %rd4, %rd1, %rd2, %rd3;", bits(3.0), bits(5.0), bits(-0.5))),
      14.5);
  EXPECT_EQ(run("fma.rn.f32x2 %rd4, %rd1, %rd2, %rd3;", bits(2.0f) << 32 | bits(3.0f),
                bits(5.0f) << 32 | bits(7.0f), bits(1.0f) << 32 | bits(1.0f)),
            bits(11.0f) << 32 | bits(22.0f));
}

TEST(Instructions, ComparisonsKnowNaN) {
  const std::string select = "selp.b64 %rd4, 1, 0, p; }";
  EXPECT_EQ(run("{ .reg .pred p; setp.lt.f32 p, %rd1, %rd2; " + select, bits(NAN), bits(1.0f)), 0u);
  EXPECT_EQ(run("{ .reg .pred p; setp.ltu.f32 p, %rd1, %rd2; " + select, bits(NAN), bits(1.0f)),
            1u);
  EXPECT_EQ(run("{ .reg .pred p; setp.lt.u32 p, %rd1, %rd2; " + select, bits(-1), 1), 0u);
  EXPECT_EQ(run("{ .reg .pred p; setp.lt.s32 p, %rd1, %rd2; " + select, bits(-1), 1), 1u);
  EXPECT_EQ(run("{ .reg .pred p, q; setp.eq.s32 p|q, %rd1, %rd2; selp.b64 %rd4, 5, 6, q; }", 1, 2),
            5u);
  EXPECT_EQ(
      run("{ .reg .pred p, q; setp.eq.s32 q, %rd1, 1; setp.eq.and.s32 p, %rd2, 2, !q; " + select, 1,
          2),
      0u);
}

TEST(Instructions, ConversionsRoundAndSaturate) {
  EXPECT_EQ(run("cvt.rni.s32.f32 %rd4, %rd1;", bits(2.5f)), 2u);
  EXPECT_EQ(run("cvt.rzi.s32.f32 %rd4, %rd1;", bits(-2.9f)), bits(-2));
  EXPECT_EQ(run("cvt.rmi.s32.f32 %rd4, %rd1;", bits(-2.1f)), bits(-3));
  EXPECT_EQ(run("cvt.rzi.u32.f32 %rd4, %rd1;", bits(-5.0f)), 0u);
  EXPECT_EQ(run("cvt.rzi.s32.f32 %rd4, %rd1;", bits(1e20f)), 0x7fffffffu);
  EXPECT_EQ(run("cvt.rzi.s32.f32 %rd4, %rd1;", bits(NAN)), 0u);
  EXPECT_EQ(run("cvt.s64.s32 %rd4, %rd1;", bits(-5)), Slot(-5));
  EXPECT_EQ(run("cvt.u64.u32 %rd4, %rd1;", bits(-5)), 0xfffffffbu);
  EXPECT_EQ(run("cvt.sat.u8.s32 %rd4, %rd1;", 300), 255u);
  EXPECT_EQ(get<float>(run("cvt.rn.f32.s32 %rd4, %rd1;", 16777217)), 16777216.0f);
  EXPECT_EQ(get<float>(run("cvt.rp.f32.s32 %rd4, %rd1;", 16777217)), 16777218.0f);
  EXPECT_EQ(get<float>(run("cvt.rn.f32.f64 %rd4, %rd1;", bits(0.1))), 0.1f);
  EXPECT_EQ(run("cvt.rn.bf16.f32 %rd4, %rd1;", bits(1.00390625f)), 0x3f80u);  // a tie goes to even
  EXPECT_EQ(run("cvt.rn.bf16.f32 %rd4, %rd1;", bits(1.01171875f)), 0x3f82u);
  EXPECT_EQ(run("cvt.rz.bf16.f32 %rd4, %rd1;", bits(1.9999f)), 0x3fffu);
  EXPECT_EQ(run("cvt.rn.bf16x2.f32 %rd4, %rd1, %rd2;", bits(1.0f), bits(2.0f)), 0x3f804000u);
  EXPECT_EQ(run("cvt.rn.f16.f32 %rd4, %rd1;", bits(65519.0f)), 0x7bffu);
  EXPECT_EQ(run("cvt.rn.f16.f32 %rd4, %rd1;", bits(65520.0f)), 0x7c00u);
  EXPECT_EQ(run("cvt.rn.f16.f32 %rd4, %rd1;", bits(5.96e-8f)), 1u);
  EXPECT_EQ(get<float>(run("cvt.f32.f16 %rd4, %rd1;", 0x3555)), 0.333251953125f);
  EXPECT_EQ(run("add.bf16 %rd4, %rd1, %rd2;", 0x3f80, 0x4000), 0x4040u);
  EXPECT_EQ(run("fma.rn.bf16x2 %rd4, %rd1, %rd2, %rd3;", 0x40004000, 0x40404040, 0x3f800000),
            0x40e040c0u);
}

TEST(Instructions, GuardsAndBranches) {
  EXPECT_EQ(
      run("{ .reg .pred p; setp.eq.u64 p, %rd1, 1; @p mov.b64 %rd4, 7; @!p mov.b64 %rd4, 8; }", 1),
      7u);
  EXPECT_EQ(run("{ .reg .pred p;\nloop: add.u64 %rd4, %rd4, %rd1; sub.u64 %rd2, %rd2, 1; "
                "setp.ne.u64 p, %rd2, 0; @p bra loop; }",
                3, 5),
            15u);
}

TEST(Instructions, UnknownOnesAreRefusedWithTheirLine) {
  const auto refused = [](const std::string& instruction) {
    return check_ptx(module_text(instruction));
  };
  EXPECT_EQ(refused("add.s32 %rd4, %rd1, %rd2;"), "");
  EXPECT_THAT(refused("frobnicate.b32 %rd4, %rd1;"),
              AllOf(HasSubstr("PTX line 12"), HasSubstr("frobnicate")));
  EXPECT_THAT(refused("\nadd.rn.wobble.f32 %rd4, %rd1, %rd2;"),
              AllOf(HasSubstr("PTX line 13"), HasSubstr(".wobble is unknown")));
  EXPECT_THAT(refused("add.sat.u32 %rd4, %rd1, %rd2;"), HasSubstr("cannot simulate add"));
  EXPECT_THAT(refused("mov.u64 %rd4, %clock64;"), HasSubstr("%clock64"));
  EXPECT_THAT(refused("bra nowhere;"), HasSubstr("no label nowhere"));
  EXPECT_THAT(refused("call.uni something;"), HasSubstr("cannot simulate call"));
  EXPECT_THAT(refused("shfl.bfly.b32 %rd4, %rd1, 1, 31;"), HasSubstr("only the .sync form"));
  EXPECT_THAT(refused("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%rd4}, {%rd1};"),
              HasSubstr("wmma"));
  EXPECT_THAT(refused("bar.sync 1, 32;"), HasSubstr("part of the block"));
}

}  // namespace
}  // namespace sfnn::gpusim
