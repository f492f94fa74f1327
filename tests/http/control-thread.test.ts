/** The thread of the API is replaced when it dies; while its database is away it is waited for. */
import { expect, test } from 'vitest';
import { type ControlThreadDeps, createControlThread } from '../../server/threads/control/thread.ts';
import { VirtualTime } from '../support/virtual-time.ts';

type Start = { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly code: string };

/** A thread that starts as told; `die` ends it. */
function played(starts: readonly Start[]) {
  const started: EventTarget[] = [];
  const spawn = () => {
    const start = starts[Math.min(started.length, starts.length - 1)];
    const thread = Object.assign(new EventTarget(), {
      onmessage: null as ((event: MessageEvent) => void) | null,
      postMessage: () =>
        queueMicrotask(() =>
          thread.onmessage?.(
            new MessageEvent('message', {
              data: { setupDone: true, message: '', params: { name: 'site', detail: '' }, ...start },
            }),
          ),
        ),
      terminate: () => undefined,
    });
    started.push(thread);
    return thread as unknown as Worker;
  };
  return { spawn, began: started, die: () => started.at(-1)?.dispatchEvent(new MessageEvent('close')) };
}

const around = (spawn: () => Worker, said: string[], timers: VirtualTime): ControlThreadDeps => ({
  spawn,
  order: {} as ControlThreadDeps['order'],
  ledgerPort: () => new MessageChannel().port1,
  receive: () => undefined,
  lost: () => void said.push('lost'),
  replaced: () => void said.push('replaced'),
  onFatal: () => void said.push('hopeless'),
  timers,
});

test('a database that is away for long is waited for, however often it is asked in vain', async () => {
  const unavailable = Array.from(
    { length: 30 },
    (_, n): Start => ({
      kind: 'failed',
      code: ['database_unreachable', 'database_starting', 'database_full'][n % 3] ?? '',
    }),
  );
  const { spawn, began: started, die } = played([{ kind: 'ready' }, ...unavailable, { kind: 'ready' }]);
  const said: string[] = [];
  const time = new VirtualTime();
  await createControlThread(around(spawn, said, time)).start();
  die();
  await time.advance(60_000);
  expect(said).toEqual(['lost', 'replaced']);
  expect(started).toHaveLength(32);
});

test('a thread that cannot start for a reason of its own is given up', async () => {
  const { spawn, began: started, die } = played([{ kind: 'ready' }, { kind: 'failed', code: 'database_newer' }]);
  const said: string[] = [];
  const time = new VirtualTime();
  await createControlThread(around(spawn, said, time)).start();
  die();
  await time.advance(60_000);
  expect(said).toEqual(['lost', 'hopeless']);
  expect(started).toHaveLength(6);
});
