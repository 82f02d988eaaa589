# docker build -f deploy/etcd.Dockerfile -t etcd deploy     etcd 3.5 as Debian has it; any other image of etcd will do

FROM debian:13-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends etcd-server etcd-client \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o 1000 -g 1000 -m 700 /var/lib/baton-etcd
ENV ETCDCTL_API=3
USER 1000:1000
VOLUME /var/lib/baton-etcd
EXPOSE 2379 2380
ENTRYPOINT ["etcd"]
