// Style of the report and of stand-alone charts. Rules name their colours, var(--text); each has a
// light and a dark value. Light is the default, so that print is light whatever the screen is.
#pragma once

#include <string_view>

namespace sfnn {

inline constexpr std::string_view kLightColors = R"css(
--page:#fff;--card:#fff;--text:#1c2330;--soft:#5b6472;--rule:#dfe3e8;--grid:#e9ecf0;--mark:#fff4cf;
--c0:#2563b8;--c1:#d4571c;--c2:#1f8a55;--c3:#8a4fb8;--c4:#a97a00;--c5:#0f8a9d;--c6:#c2344f;--c7:#5f6b7a;
--c8:#d94fb0;--c9:#6b8e00;--c10:#1f2a6e;--c11:#7a4420;)css";

inline constexpr std::string_view kDarkColors = R"css(
--page:#12161d;--card:#1a2029;--text:#e6eaf0;--soft:#9aa5b4;--rule:#313a47;--grid:#2a323e;--mark:#3d3516;
--c0:#6fa8ff;--c1:#ff9257;--c2:#56c98b;--c3:#c792ee;--c4:#e0b340;--c5:#4fc4d6;--c6:#ff6b7f;--c7:#a9b4c2;
--c8:#ff8fd8;--c9:#b5d94c;--c10:#5b6dff;--c11:#c08a5e;)css";

inline constexpr std::string_view kChartStyle = R"css(
svg .title{font-size:15px;font-weight:600;fill:var(--text)}
svg .legend{fill:var(--text)}
svg .tick{fill:var(--soft);font-variant-numeric:tabular-nums}
svg .label{fill:var(--soft)}
svg .right{text-anchor:end}svg .middle{text-anchor:middle}
svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--soft)}
svg .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
svg .dashed{stroke-dasharray:2 5;stroke-width:1.8}
svg .dotted{stroke-dasharray:7 4}
svg .area{opacity:.13;stroke:none}
svg .cell{stroke:var(--grid)}
svg .mark{stroke:#000;stroke-opacity:0;stroke-width:12;pointer-events:all}
)css";

inline constexpr std::string_view kPageStyle = R"css(
*{box-sizing:border-box}
body{margin:0 auto;padding:32px 28px 64px;max-width:1240px;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:28px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:20px;margin:40px 0 4px}
p{margin:0 0 14px;max-width:78ch}
p,.soft{color:var(--soft)}
.live{color:var(--text);border-left:4px solid var(--c2);padding-left:10px}
figure ul{margin:0;padding-left:20px}
.card+p{margin-top:14px}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,480px),1fr));gap:20px;margin:12px 0}
figure,.card{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:16px 18px;break-inside:avoid}
figcaption{font-weight:600;margin-bottom:10px}
figure{overflow-x:auto}
svg.chart{display:block;width:100%;min-width:440px;height:auto;max-width:720px;margin:auto;font-size:12.5px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--rule);vertical-align:top}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--soft);font-weight:500;font-size:13px}
tbody th{font-weight:500;white-space:nowrap}
.number{text-align:right;white-space:nowrap}
tr.differs>*{background:var(--mark)}
tr.heading>*{color:var(--soft);font-size:13px;white-space:normal;padding-top:18px}
tr>:first-child{padding-left:8px}
.swatch{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:8px;vertical-align:-1px}
thead th{vertical-align:bottom}thead .number{white-space:normal}
.whole{white-space:nowrap}
.best{font-weight:700}
img{display:block;max-width:100%;height:auto}
details{margin-top:14px}summary{cursor:pointer;color:var(--soft)}
@media screen and (max-width:600px){body{padding:20px 12px 48px}figure,.card{padding:12px}
tbody th{white-space:normal;overflow-wrap:anywhere;min-width:34vw}
svg.chart{min-width:0;font-size:15px}}
@media print{@page{margin:12mm}
body{padding:0;max-width:none;font-size:11px}h2,section>p{break-after:avoid}h2{margin-top:20px}
.figures{grid-template-columns:1fr 1fr;gap:8px}figure,.card{padding:8px 10px}svg.chart{min-width:0}
.scroll{overflow:visible}th,td,thead th{font-size:9px;padding:3px 6px 3px 0}.number{white-space:normal}
.swatch,tr.differs>*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace sfnn
