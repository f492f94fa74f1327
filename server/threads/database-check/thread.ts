/** A look through the database file at start: what is found in time keeps the server from starting, the rest is reported while it serves. */
import { existsSync } from 'node:fs';
import { systemTimers } from '../../contract/timers.ts';
import { startThread } from '../../embedded/workers.ts';
import { watchThread } from '../watch-thread.ts';
import type { CheckOrder, CheckReport } from './worker.ts';

export interface DatabaseCheck {
  /** What the quick look found. */
  readonly quick: Promise<readonly string[]>;
  /** What the full look found. */
  readonly full: Promise<readonly string[]>;
  /** The quick look has ended: neither was it stopped, nor did its thread die. */
  hasLooked(): boolean;
  stop(): void;
}

/** @param delayMs for which others may start first. */
export function startDatabaseCheck(order: CheckOrder, delayMs = 0): DatabaseCheck {
  const found = { quick: Promise.withResolvers<readonly string[]>(), full: Promise.withResolvers<readonly string[]>() };
  const done = () => {
    found.quick.resolve([]);
    found.full.resolve([]);
  };
  let looked = false;
  const checked = { quick: found.quick.promise, full: found.full.promise, hasLooked: () => looked };
  if (!existsSync(order.file)) {
    looked = true;
    done();
    return { ...checked, stop: () => undefined };
  }
  let stopThread: () => void = () => undefined;
  const begin = () => {
    const thread = startThread('check');
    const stopWatching = watchThread(thread, done);
    stopThread = () => {
      stopWatching();
      thread.terminate();
    };
    thread.onmessage = ({ data }: MessageEvent<CheckReport>) => {
      looked = true;
      found[data.kind].resolve(data.problems);
      if (data.kind === 'full') stop();
    };
    thread.postMessage(order);
  };
  const beginning = delayMs === 0 ? null : systemTimers.set(begin, delayMs);
  if (beginning === null) begin();
  const stop = () => {
    beginning?.close();
    stopThread();
    done();
  };
  return { ...checked, stop };
}
