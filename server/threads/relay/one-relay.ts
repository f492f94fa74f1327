/** The only relay, in the main thread: nothing is passed between threads, all else is as it is with several. */
import { createSteadyClock } from './clock.ts';
import { freePort } from './free-port.ts';
import type { FromRelay } from './messages.ts';
import { passOn, type Relays, type RelaysDeps } from './relays.ts';
import { createServing } from './serving.ts';

/** @throws AppError secret_* */
export function createOneRelay(deps: RelaysDeps): Relays {
  const stopped = Promise.withResolvers<void>();
  let paused = Promise.withResolvers<void>();
  const hear = (message: FromRelay) => {
    if (message.kind === 'stopped') stopped.resolve();
    else if (message.kind === 'paused') paused.resolve();
    else passOn(deps, message);
  };
  const { host, port, sharesPort, follows } = deps.order;
  const alone = sharesPort && !follows;
  const order = alone ? { ...deps.order, port: freePort(host, port) } : deps.order;
  const serving = createServing({ ...deps, order, steady: createSteadyClock(), tell: hear });
  return {
    open: serving.open,
    news: () => Promise.resolve(),
    test: (order) => serving.receive({ kind: 'test', ...order }),
    channels: (id, ids) => serving.receive({ kind: 'standing', id, ids }),
    heard: (news) => serving.receive({ kind: 'heard', news }),
    traffic: () => serving.receive({ kind: 'traffic' }),
    taskAnswered: (answer) => serving.receive({ kind: 'taskAnswered', ...answer }),
    tasksLost: () => serving.receive({ kind: 'tasksLost' }),
    figures: async () => [{ thread: 1, figures: serving.figures() }],
    standing: serving.standing,
    suspend: (reason) => serving.receive({ kind: 'suspend', reason }),
    pause() {
      paused = Promise.withResolvers();
      serving.receive({ kind: 'pause' });
      return paused.promise;
    },
    handOn: (door) => serving.receive({ kind: 'handOn', door }),
    stop(graceMs, delayMs = 0) {
      serving.receive({ kind: 'stop', graceMs, delayMs });
      return stopped.promise;
    },
    hurry: () => serving.receive({ kind: 'hurry' }),
    fail({ code, params }, bankrupt) {
      serving.receive({ kind: 'fail', bankrupt, code, params });
      return stopped.promise;
    },
    terminate: () => undefined,
  };
}
