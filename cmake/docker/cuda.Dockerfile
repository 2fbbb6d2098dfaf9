# docker build -f cmake/docker/cuda.Dockerfile -t sfnn-cuda .
# docker run --rm --gpus all -v "$PWD:/work" sfnn-cuda devices
# Tried: nothing. No Docker daemon was at hand where this was written, and no GPU; its steps are those of docs/gpu.md.
FROM nvidia/cuda:13.0.0-devel-ubuntu24.04 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends \
    g++ cmake ninja-build libhwy-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libpng-dev \
    zlib1g-dev libcurl4-openssl-dev libssl-dev
COPY . /source
WORKDIR /source
RUN cmake --preset release -DSFNN_TESTS=OFF -DSFNN_BENCH=OFF && cmake --build build/release && \
    cmake --install build/release --prefix /installed --strip

FROM nvidia/cuda:13.0.0-runtime-ubuntu24.04
# By the -dev packages, which bring the libraries: their own names differ between releases of Ubuntu.
RUN apt-get update && apt-get install --yes --no-install-recommends \
    ca-certificates libhwy-dev libtomlplusplus-dev libfmt-dev libpng-dev libcurl4-openssl-dev && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/bin/sfnn /usr/local/bin/sfnn
WORKDIR /work
ENTRYPOINT ["sfnn"]
