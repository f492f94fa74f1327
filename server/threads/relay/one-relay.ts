/** The only relay, in the main thread: nothing is passed between threads, all else is as it is with several. */
import { BodyMemory } from '../../relay/intake/body-memory.ts';
import { threadTimers } from './clock.ts';
import { processMemory } from './environment.ts';
import { freePort } from './free-port.ts';
import type { FromRelay } from './messages.ts';
import { newPulse, Pulse } from './pulse.ts';
import { passOn, type RelayPool, type RelayPoolDeps } from './relay-pool.ts';
import { createServing } from './serving.ts';

/** @throws AppError secret_* */
export function createOneRelay(deps: RelayPoolDeps): RelayPool {
  const stopped = Promise.withResolvers<void>();
  let paused = Promise.withResolvers<void>();
  const receive = (message: FromRelay) => {
    if (message.kind === 'stopped') stopped.resolve();
    else if (message.kind === 'paused') paused.resolve();
    else passOn(deps, message);
  };
  const { host, port, sharesPort, follows } = deps.order;
  const alone = sharesPort && !follows;
  const order = alone ? { ...deps.order, port: freePort(host, port) } : deps.order;
  const pulse = new Pulse(deps.pulses[0] ?? newPulse());
  const bodies = new BodyMemory(deps.bodyCells, 0, processMemory(deps.order.env));
  const serving = createServing({ ...deps, order, pulse, bodies, timers: threadTimers(), send: receive });
  return {
    open: serving.open,
    update: () => Promise.resolve(),
    test: (order) => serving.receive({ kind: 'test', ...order }),
    channels: (id, question) => serving.receive({ kind: 'channelHealth', id, ...question }),
    received: (healthReport) => serving.receive({ kind: 'healthReport', healthReport }),
    keepHealth: () => serving.receive({ kind: 'keepHealth' }),
    traffic: () => serving.receive({ kind: 'traffic' }),
    taskResponded: (answer) => serving.receive({ kind: 'taskAnswered', ...answer }),
    tasksLost: () => serving.receive({ kind: 'tasksLost' }),
    stats: async () => [{ thread: 1, stats: serving.stats() }],
    status: serving.status,
    suspend: (reason) => serving.receive({ kind: 'suspend', reason }),
    pause() {
      paused = Promise.withResolvers();
      serving.receive({ kind: 'pause' });
      return paused.promise;
    },
    forwardTo: (endpoint) => serving.receive({ kind: 'forward', endpoint }),
    stop(graceMs, delayMs = 0) {
      serving.receive({ kind: 'stop', graceMs, delayMs, withOthers: false });
      return stopped.promise;
    },
    shutDownNow: () => serving.receive({ kind: 'stopNow' }),
    fail({ code, params }, isLedgerLost) {
      serving.receive({ kind: 'fail', isLedgerLost, code, params });
      return stopped.promise;
    },
    terminate: () => undefined,
  };
}
