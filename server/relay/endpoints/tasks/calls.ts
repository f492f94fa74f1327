/** The store of drawings and songs as the relay sees it: every call is a message to the control thread. */
import { AppError } from '../../../contract/errors.ts';
import { reasonText } from '../../../contract/storage-reasons.ts';
import type { TaskCall, TaskStore } from './store.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AppError) => void;
}

export interface TaskCallAnswer {
  readonly id: number;
  readonly value: unknown;
  readonly failed: boolean;
}

export function createTaskCalls(send: (id: number, call: TaskCall) => void) {
  const waiting = new Map<number, Waiting>();
  let next = 1;
  const call =
    <K extends keyof TaskStore>(method: K) =>
    (...args: Parameters<TaskStore[K]>): ReturnType<TaskStore[K]> => {
      const id = next++;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set(id, { resolve, reject });
      send(id, { method, args } as TaskCall);
      return promise as ReturnType<TaskStore[K]>;
    };
  const store: TaskStore = {
    addDrawing: call('addDrawing'),
    drawing: call('drawing'),
    drawings: call('drawings'),
    mjImage: call('mjImage'),
    noteDrawing: call('noteDrawing'),
    addSong: call('addSong'),
    song: call('song'),
    songs: call('songs'),
    keepItems: call('keepItems'),
    keptItems: call('keptItems'),
    keepOwners: call('keepOwners'),
    ownersOf: call('ownersOf'),
  };
  return {
    store,
    /** The thread that was called is gone. */
    giveUp(): void {
      for (const { reject } of waiting.values())
        reject(new AppError('storage_unavailable', { reason: reasonText('tasks'), seconds: 5 }));
      waiting.clear();
    },
    answered({ id, value, failed }: TaskCallAnswer): void {
      const caller = waiting.get(id);
      waiting.delete(id);
      if (failed) caller?.reject(new AppError('storage_unavailable', { reason: reasonText('tasks') }));
      else caller?.resolve(value);
    },
  };
}
