#!/bin/sh
# Debian gives "configure" and the former version, RPM the number of versions that are installed afterwards.
set -e
getent passwd gateway >/dev/null || useradd --system --user-group --home-dir /var/lib/gateway --no-create-home --shell /usr/sbin/nologin gateway
install -d -o gateway -g gateway -m 700 /var/lib/gateway
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart gateway.service
fi
if { [ "$1" = configure ] && [ -z "${2:-}" ]; } || [ "$1" = 1 ]; then
  echo "gateway: start it with systemctl enable --now gateway, then: sudo gateway setup"
fi
