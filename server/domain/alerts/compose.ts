/** Alerts with the hands they need: the disk, the site's certificate, those who carry. */
import { statfsSync } from 'node:fs';
import { connect } from 'node:tls';
import type { DataFolder } from '../backup/home.ts';
import { createDeliver, type DeliverDeps } from './delivery.ts';
import { type AlertInputsDeps, createAlertInputs } from './inputs.ts';
import { type AlertsDeps, type AlertsService, createAlerts } from './service.ts';

type AlertInputDeps = Omit<AlertsDeps, 'deliver' | 'inputs'> &
  Omit<AlertInputsDeps, 'freeBytes' | 'certificateEnd'> &
  Omit<DeliverDeps, 'options'> & { readonly dataFolder?: DataFolder };

export function createOperatorAlerts(deps: AlertInputDeps): AlertsService {
  // A node has files of its own wherever the database lies.
  const folder = deps.dataFolder?.folder ?? deps.database.folder;
  const inputs = createAlertInputs({
    ...deps,
    freeBytes: () => (folder === null ? null : freeBytesOf(folder)),
    certificateEnd,
  });
  return createAlerts({ ...deps, deliver: createDeliver(deps), inputs });
}

function freeBytesOf(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

const timeoutMs = 10_000;

/** Whether anybody trusts it is not asked: only when it ends. */
function certificateEnd(url: string): Promise<number | null> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const socket = connect(
    {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || 443,
      servername: hostname,
      rejectUnauthorized: false,
      timeout: timeoutMs,
    },
    () => {
      const end = Date.parse(socket.getPeerCertificate().valid_to);
      resolve(Number.isNaN(end) ? null : Math.floor(end / 1000));
      socket.destroy();
    },
  );
  const none = () => {
    socket.destroy();
    resolve(null);
  };
  socket.on('error', none);
  socket.on('timeout', none);
  return promise;
}
