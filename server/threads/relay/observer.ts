/** Observers of a relay: log lines, and traces where they are configured. */

import type { Timers } from '../../contract/timers.ts';
import { version } from '../../embedded/version.ts';
import { createLog, flattened } from '../../observability/logging/log.ts';
import { requestLines } from '../../observability/logging/requests.ts';
import type { Traces } from '../../observability/traces/tracer.ts';
import { providerByType } from '../../providers/catalogue.ts';
import type { RequestObserver } from '../../relay/admission/observer.ts';
import { relayRouteFor } from '../../relay/intake/routes.ts';
import type { Relay } from '../../relay/relay.ts';
import type { ServingOrder } from './messages.ts';

/** Lines of the log wait so long for others. */
const batchMs = 100;

export interface Observers {
  readonly observer: RequestObserver | null;
  /** Absent where traces are not configured. */
  readonly wrap?: Traces['wrap'];
  /** The same relay, seen. */
  seen(relay: Relay): Relay;
  /** Resolves when everything they need is loaded. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** @param write takes whole lines of the log. */
export function createObservers(
  { log: settings, traces: traceSettings }: ServingOrder,
  write: (text: string) => void,
  timers: Timers,
): Observers {
  const logged = flattened(
    write,
    (run) => timers.set(run, batchMs).unref(),
    (missing) => {
      const lines: string[] = [];
      createLog(settings, (line) => lines.push(line), timers.now).warn(`${missing} lines were left out`);
      return lines.join('');
    },
  );
  const lines = requestLines(createLog(settings, logged, timers.now), settings.access);
  if (traceSettings === null) {
    return { observer: lines, seen: (relay) => relay, ready: async () => undefined, stop: async () => undefined };
  }

  let traces: Traces | null = null;
  return {
    observer: {
      ended(request) {
        lines?.ended(request);
        traces?.observer.ended(request);
      },
      rejected(request) {
        lines?.rejected(request);
        traces?.observer.rejected(request);
      },
    },
    wrap(dispatch) {
      let traced: typeof dispatch | null = null;
      return (call, ...rest) => {
        traced ??= traces?.wrap(dispatch) ?? null;
        return (traced ?? dispatch)(call, ...rest);
      };
    },
    seen: (relay) => ({
      ...relay,
      handle: (request, path, peer) => {
        const run = () => relay.handle(request, path, peer);
        const billed = relayRouteFor(path)?.route.operation !== 'count_tokens';
        return traces === null ? run() : traces.handle(request, path, run, billed);
      },
    }),
    async ready() {
      const { startTraces } = await import('../../observability/traces/tracer.ts');
      traces = startTraces(traceSettings, {
        version,
        providerOf: (type) => providerByType(type)?.slug ?? String(type),
        now: timers.now,
      });
    },
    stop: async () => traces?.stop(),
  };
}
