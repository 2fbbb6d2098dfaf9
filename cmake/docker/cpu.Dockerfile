# docker build -f cmake/docker/cpu.Dockerfile -t sfnn .
# docker run --rm -v "$PWD:/work" sfnn demo
# Tried: nothing. No Docker daemon was at hand where this was written; its steps are those of docs/install.md.
FROM debian:12 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends \
    g++ cmake ninja-build libhwy-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libpng-dev \
    zlib1g-dev libcurl4-openssl-dev libssl-dev
COPY . /source
WORKDIR /source
RUN cmake --preset cpu -DSFNN_TESTS=OFF -DSFNN_BENCH=OFF && cmake --build build/cpu && \
    cmake --install build/cpu --prefix /installed --strip

FROM debian:12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends \
    ca-certificates libcurl4 libfmt9 libhwy1 libpng16-16 libssl3 libtomlplusplus3 zlib1g && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/bin/sfnn /usr/local/bin/sfnn
WORKDIR /work
ENTRYPOINT ["sfnn"]
