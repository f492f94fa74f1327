/** Runs the gateway until it gets a signal to stop. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { dataDirFiles, lockOwner } from '../../../server/app/data-dir.ts';
import {
  createLog,
  logSettings,
  metricsAddress,
  parseBasePath,
  relayThreadCount,
  startGateway,
  traceSettings,
} from '../../../server/app/serve.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { folderFree } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import { announce, setupLink } from '../../parts/access.ts';
import { MigrationLines } from '../../parts/migration-lines.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { fromEnvironment } from './from-environment.ts';
import { printReady, printReadyAsJson } from './ready.ts';
import { ServeSignals } from './signals.ts';

const defaultGrace = 30;
const maxWaitSeconds = 600;

/** @returns milliseconds. @throws AppError usage */
function waitOf(flag: string, input: string | undefined, usual: number): number {
  const seconds = Number(input ?? usual);
  if (!Number.isFinite(seconds) || seconds < 0 || seconds > maxWaitSeconds)
    throw new AppError('usage', { detail: `${flag} ${input}: 0-${maxWaitSeconds}` });
  return seconds * 1000;
}

const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' };

/** A machine without a browser is none the worse for it. */
function openBrowser(url: string): void {
  spawn(openers[process.platform] ?? 'xdg-open', [url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}

export const serve: CommandRun = async (context, flags) => {
  const takeOver = flags.takeOver === true;
  // With --take-over and a running process its port is used; 0 = that one.
  const usualPort = takeOver && lockOwner(dataDirFiles(context.dataDir)) !== null ? 0 : 3000;
  const input = text(flags.port);
  const { GATEWAY_PORT: variable } = context.env;
  const port =
    wholeNumber(input ?? (variable || undefined), input === undefined ? 'GATEWAY_PORT' : '--port', {
      max: 65_535,
    }) ?? usualPort;
  const graceMs = waitOf('--grace', text(flags.grace) ?? context.env.GATEWAY_GRACE, defaultGrace);
  const delayMs = waitOf('--stop-delay', text(flags.stopDelay) ?? context.env.GATEWAY_STOP_DELAY, 0);
  const relayThreads = relayThreadCount(
    text(flags.relays) ?? context.env.GATEWAY_RELAYS,
    availableParallelism(),
    process.platform,
  );
  const metrics = metricsAddress(
    text(flags.metrics) ?? context.env.GATEWAY_METRICS ?? '',
    context.env.GATEWAY_METRICS_TOKEN ?? '',
  );
  const log = logSettings(
    {
      format: text(flags.logFormat) ?? (flags.jsonLogs === true ? 'json' : undefined),
      level: text(flags.logLevel),
      access: flags.accessLog === true,
    },
    context.env,
  );
  const traces = traceSettings({ url: text(flags.traces), share: text(flags.traceShare) }, context.env);
  const host = text(flags.host) ?? context.env.GATEWAY_HOST ?? '127.0.0.1';
  const basePath = parseBasePath(text(flags.basePath) ?? context.env.GATEWAY_BASE_PATH ?? '');
  await folderFree(context.dataDir);
  // A server that already runs on this folder keeps its settings; the start below reports it.
  if (lockOwner(dataDirFiles(context.dataDir)) === null)
    for (const line of await fromEnvironment(context)) context.output.note(line);
  const lines = createLog(log, (line) => void process.stderr.write(line), Date.now);
  const print = (message: string) => lines.warn(message, { event: 'serving' });
  const { dataDir, env } = context;
  const { report: onMigration } = new MigrationLines(context.say, (line) => lines.info(line, { event: 'migrating' }));
  const gateway = await startGateway({
    ...{ dataDir, host, port, basePath, relayThreads, takeOver, metrics, env, log, traces, print, onMigration },
  });
  const forget = announce(context.dataDir, gateway.url);
  // A program that reads the address may send a signal at once, so the handlers are set before it is printed.
  const ended = new Promise<void>((resolve, reject) => {
    // The address is the other's then.
    let followed = false;
    void gateway.handedOver.then(() => {
      followed = true;
    });
    const stop = () => {
      if (!followed) forget();
      gateway.stop(graceMs, delayMs).then(resolve, reject);
    };
    void gateway.retired.then(resolve);
    void gateway.drained.then(() => {
      forget();
      gateway.stop(graceMs, delayMs).then(resolve, reject);
    });
    new ServeSignals({ stop, stopNow: gateway.shutDownNow, say: print }).listen(Boolean(env.GATEWAY_DETACHED));
    void gateway.failed.then((error) => {
      if (!followed) forget();
      reject(error);
    });
  });
  const link = gateway.setupCode === null ? null : setupLink(gateway.url, gateway.setupCode);
  const ready = { gateway, link, relays: relayThreads, metricsHost: metrics?.host ?? '' };
  if (log.format === 'json') printReadyAsJson(context, ready);
  else printReady(context, ready);
  for (const line of gateway.pending.rejected)
    print(`owed by an earlier run and turned down: ${line}; see ${gateway.pending.kept.join(', ')}`);
  if (flags.open === true) openBrowser(link ?? gateway.url);

  await ended;
};
