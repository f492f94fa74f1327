#!/bin/sh
# The ledger is money: it stays, whatever is removed.
set -e
if [ "$1" = remove ] || [ "$1" = purge ] || [ "$1" = 0 ]; then
  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
  rm -rf /var/cache/gateway
  if [ -d /var/lib/gateway ]; then echo "gateway: the data stay in /var/lib/gateway; rm -r /var/lib/gateway deletes them"; fi
fi
