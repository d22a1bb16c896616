# docker build --build-arg VERSION="$(git describe --tags --always)" -t aguigate .
# docker run -p 8080:8080 -v ./aguigate.yaml:/etc/aguigate/aguigate.yaml:ro -v aguigate:/var/lib/aguigate aguigate
#
# In the container the configuration has to listen on more than loopback, and such
# a listener does not start with auth.mode none, the default:
#
#   listen: 0.0.0.0:8080
#   admin: {listen: 0.0.0.0:9090}     # publish 9090 only to your Prometheus' network
#   auth: {mode: keys, keys: [{id: app, secret: "${APP_KEY}"}]}     # docker run -e APP_KEY, 16 characters or more
#
# Where everybody who can reach the port may come in, auth: {insecure: true} takes
# the place of the keys; every name other than localhost by which the gateway is
# called then has to stand in hosts.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/aguigate ./cmd/aguigate
RUN mkdir -p /out/tmp /out/data

FROM scratch
# Upstreams are often https.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/aguigate /aguigate
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/data /var/lib/aguigate
USER 65532:65532
# store.dir is ./data by default: /var/lib/aguigate/data here.
WORKDIR /var/lib/aguigate
VOLUME /var/lib/aguigate
EXPOSE 8080 9090
# No HEALTHCHECK: it would need a second program in the image, and there is no
# shell. Let the orchestrator ask /readyz on the admin listener.
ENTRYPOINT ["/aguigate"]
CMD ["serve", "--config", "/etc/aguigate/aguigate.yaml"]
