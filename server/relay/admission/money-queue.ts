/** Requests that wait for money which other requests of the same user hold: first come, first served over all threads, for two seconds at most. Who waits for its key alone holds up no other key. */
import type { Account, Line } from '../../billing/balances/account.ts';
import type { Timer, Timers } from '../../contract/timers.ts';

/** `go` = it is first, and what it waits for may be there; `late` = its time is over; `gone` = its client is. */
export type Turn = 'go' | 'late' | 'gone';

/** Quota or limit that a request lacks while it waits; null = it would be served, or refused for good. */
export type Lack = Line | null;

/** How long a request waits for money in all. */
export const maxWaitSeconds = 2;
const maxWaitMs = maxWaitSeconds * 1000;
/** Waiters of one thread, and of one user in it. */
const maxPlaces = 1000;
const maxOfUser = 32;
/** Settlements of this thread wake at once. Those of other threads, credits and leases are seen in the shared memory so often. */
const lookMs = 10;

export class MoneyQueue {
  /** By user, in the order in which they came. */
  private readonly places = new Map<number, Place[]>();
  private count = 0;
  private timer: Timer | null = null;

  constructor(readonly timers: Pick<Timers, 'monoNow' | 'every'>) {}

  /**
   * @param client ends the wait. @param sinceMs when the request began to wait for money, by the monotonic clock.
   * @param lack what it lacks now: asked while it is first.
   * @returns null = too many wait already.
   */
  join(account: Account, client: AbortSignal, sinceMs: number, lack: () => Lack): Place | null {
    const known = this.places.get(account.userId);
    if (this.count >= maxPlaces || (known?.length ?? 0) >= maxOfUser) return null;
    const line = account.line ?? lack() ?? 'balance';
    const ticket = account.join(line);
    if (ticket === null) return null;
    const place = new Place(this, account, { line, ticket }, client, sinceMs + maxWaitMs, lack);
    if (known === undefined) this.places.set(account.userId, [place]);
    else known.push(place);
    this.count++;
    this.timer ??= this.timers.every(() => this.lookAll(), lookMs);
    return place;
  }

  /** Something that the user's requests held came free. */
  settled(userId: number): void {
    if (this.count === 0) return;
    for (const place of this.places.get(userId) ?? none) place.look();
  }

  /** Those behind it may be first now. */
  left(place: Place): void {
    const { userId } = place.account;
    const all = this.places.get(userId) ?? [];
    const at = all.indexOf(place);
    if (at < 0) return;
    all.splice(at, 1);
    this.count--;
    if (all.length === 0) this.places.delete(userId);
    if (this.count === 0) {
      this.timer?.close();
      this.timer = null;
    }
    this.settled(userId);
  }

  private lookAll(): void {
    for (const all of this.places.values()) for (const place of all) place.look();
  }
}

const none: readonly Place[] = [];

export class Place {
  private resolve: ((turn: Turn) => void) | null = null;
  private onLate: (() => void) | null = null;
  /** Also when nothing has changed here: by the monotonic clock. */
  private againMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly queue: MoneyQueue,
    readonly account: Account,
    private at: { readonly line: Line; readonly ticket: number },
    private readonly client: AbortSignal,
    private readonly dueMs: number,
    private readonly lack: () => Lack,
  ) {
    client.addEventListener('abort', this.look);
  }

  /** @param afterMs goes then at the latest: for what no shared memory shows. */
  next(afterMs = Number.POSITIVE_INFINITY): Promise<Turn> {
    this.againMs = this.queue.timers.monoNow() + afterMs;
    return new Promise((resolve) => {
      this.resolve = resolve;
      this.look();
    });
  }

  get isLate(): boolean {
    return this.queue.timers.monoNow() >= this.dueMs;
  }

  /** Waits for something that may take longer than there is time. @returns null = it did, or the client has left. */
  within<T>(slow: Promise<T>): Promise<T | null> {
    const over = new Promise<null>((resolve) => {
      this.onLate = () => resolve(null);
    });
    return Promise.race([slow, over]);
  }

  readonly look = (): void => {
    const { resolve, onLate } = this;
    if (onLate !== null && (this.client.aborted || this.isLate)) onLate();
    if (resolve === null) return;
    const turn = this.turn();
    if (turn === null) return;
    this.resolve = null;
    resolve(turn);
  };

  leave(): void {
    this.resolve = null;
    this.onLate = null;
    this.client.removeEventListener('abort', this.look);
    this.account.leave(this.at.line, this.at.ticket);
    this.queue.left(this);
  }

  private turn(): Turn | null {
    if (this.client.aborted) return 'gone';
    if (this.isLate) return 'late';
    const { line, ticket } = this.at;
    if (!this.account.isFirst(line, ticket)) return null;
    if (this.queue.timers.monoNow() >= this.againMs) return 'go';
    const lack = this.lack();
    if (lack === null) return 'go';
    if (lack === 'key' && line === 'balance') this.moveToKey();
    return null;
  }

  /** The balance would do by now: those behind it wait no longer. */
  private moveToKey(): void {
    const ticket = this.account.join('key');
    if (ticket === null) return;
    this.account.leave(this.at.line, this.at.ticket);
    this.at = { line: 'key', ticket };
    this.queue.settled(this.account.userId);
  }
}
