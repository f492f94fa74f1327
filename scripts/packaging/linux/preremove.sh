#!/bin/sh
# Only a removal stops the service; an upgrade restarts it.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
  if [ -d /run/systemd/system ]; then systemctl disable --now gateway.service; fi
fi
