/** How long models take to begin an answer, by channel: who leaves an upstream that takes much longer leaves one that hangs. Memory only. */

/** Everybody waits so long. */
const minMs = 30_000;
/** An answer may take so many times as long as usual. */
const allowance = 2;
/** What is usual follows slow answers sooner than fast ones: short questions must not make long ones look as if they hung. */
const rise = 0.5;
const fall = 1 / 16;
/** Channels x models; callers choose some of the names. */
const maxKnown = 20_000;

interface Usual {
  /** Milliseconds; 0 = none was seen. */
  streamed: number;
  whole: number;
}

export class FirstBytes {
  private readonly usual = new Map<number, Map<string, Usual>>();
  private size = 0;

  /** An answer could be passed on after so many milliseconds: a stream at its first content, any other when it had come. */
  note(channelId: number, model: string, streamed: boolean, ms: number): void {
    const usual = this.usual.get(channelId)?.get(model) ?? this.make(channelId, model);
    const name = streamed ? 'streamed' : 'whole';
    const known = usual[name];
    usual[name] = known === 0 ? ms : known + (ms - known) * (ms > known ? rise : fall);
  }

  /** @returns the milliseconds after which an upstream that has sent nothing counts as hanging. */
  hangsAfterMs(channelId: number, model: string, streamed: boolean): number {
    const usual = this.usual.get(channelId)?.get(model);
    return Math.max(minMs, allowance * (usual?.[streamed ? 'streamed' : 'whole'] ?? 0));
  }

  private make(channelId: number, model: string): Usual {
    if (this.size >= maxKnown) {
      this.usual.clear();
      this.size = 0;
    }
    let models = this.usual.get(channelId);
    if (models === undefined) {
      models = new Map();
      this.usual.set(channelId, models);
    }
    const fresh = { streamed: 0, whole: 0 };
    models.set(model, fresh);
    this.size++;
    return fresh;
  }
}
