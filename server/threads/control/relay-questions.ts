/** What this thread asks the relays, and who waits for their answers. */
import type { ChannelHealthStatus } from '../../domain/channels/routes.ts';
import type { ChannelTestResult, RelayTest } from '../../domain/channels/service.ts';
import type { FromControl } from './messages.ts';

export class RelayQuestions {
  readonly #tests = new Map<number, (result: ChannelTestResult) => void>();
  readonly #health = new Map<number, (found: readonly ChannelHealthStatus[]) => void>();
  #next = 1;

  constructor(private readonly send: (message: FromControl) => void) {}

  test(channelTest: Parameters<RelayTest>[0]): Promise<ChannelTestResult> {
    return new Promise((resolve) => {
      const id = this.#next++;
      this.#tests.set(id, resolve);
      this.send({ kind: 'test', id, ...channelTest });
    });
  }

  tested(id: number, result: ChannelTestResult): void {
    this.#tests.get(id)?.(result);
    this.#tests.delete(id);
  }

  health(ids: readonly number[], model: string | null, keys: boolean): Promise<readonly ChannelHealthStatus[]> {
    return new Promise((resolve) => {
      const id = this.#next++;
      this.#health.set(id, resolve);
      this.send({ kind: 'channelHealth', id, ids, model, keys });
    });
  }

  healthFound(id: number, found: readonly ChannelHealthStatus[]): void {
    this.#health.get(id)?.(found);
    this.#health.delete(id);
  }
}
