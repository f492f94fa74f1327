/** Acquires and returns leases with the ledger, in one transaction at a time; what is ordered meanwhile goes with the next. */
import type { Grant, LeaseKind, LeaseMove, MoveOutcome, SubjectState } from '../ports.ts';

export interface LeaseMovesDeps {
  readonly move: (moves: readonly LeaseMove[], epoch: number) => Promise<MoveOutcome>;
  readonly isUncertain: (error: unknown) => boolean;
  /** What `account` is in what it acquires. */
  readonly kind: 'account' | 'budget';
  /** What was granted is in reach. @param state of the account or budget. */
  readonly raise: (kind: LeaseKind, subject: number, amount: number, state?: SubjectState) => void;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  readonly after: (ms: number, work: () => void) => void;
}

/** @param grant null = the ledger does not answer, or the node goes on under another epoch. */
type Reply = (grant: Grant | null) => void;

const retryMs = 20;

export class LeaseMoves {
  readonly #deps: LeaseMovesDeps;
  #epoch = 0;
  #outgoing: LeaseMove[] = [];
  /** Replies to the acquisitions in `#outgoing`, in their order. */
  #replies: Reply[] = [];
  /** When the pending transaction began; null = none is pending. */
  #movingSince: number | null = null;

  constructor(deps: LeaseMovesDeps) {
    this.#deps = deps;
  }

  /** Leases of earlier epochs are void; there is nothing to give back of them. */
  begin(epoch: number): void {
    this.#epoch = epoch;
    this.#outgoing = this.#outgoing.filter(({ type }) => type === 'acquire');
  }

  acquire(move: Omit<Extract<LeaseMove, { readonly type: 'acquire' }>, 'kind'>, reply: Reply): void {
    const { kind } = this.#deps;
    this.#replies.push(reply);
    this.#send(kind === 'budget' ? { ...move, kind } : move);
  }

  giveBack(kind: LeaseKind, subject: number, amount: number): void {
    this.#send({ type: 'give-back', kind, subject, amount });
  }

  /** Milliseconds that the pending transaction has taken; 0 = none is pending. */
  pendingMs(): number {
    return this.#movingSince === null ? 0 : this.#deps.now() - this.#movingSince;
  }

  #send(move: LeaseMove): void {
    this.#outgoing.push(move);
    void this.#pump();
  }

  async #pump(): Promise<void> {
    if (this.#movingSince !== null) return;
    while (this.#outgoing.length > 0) {
      this.#movingSince = this.#deps.now();
      const [moves, replies, epoch] = [this.#outgoing, this.#replies, this.#epoch];
      this.#outgoing = [];
      this.#replies = [];
      const grants = await this.#carry(moves, epoch);
      // Under another epoch they are void, whatever their outcome.
      const valid = grants !== null && epoch === this.#epoch ? grants : null;
      for (const { account, token, granted, tokenGranted, accountState, budgetState } of valid ?? []) {
        const { kind } = this.#deps;
        const state = accountState ?? budgetState;
        if (granted > 0 || state !== undefined) this.#deps.raise(kind, account, granted, state);
        if (tokenGranted > 0) this.#deps.raise('token', token, tokenGranted);
      }
      for (const [index, reply] of replies.entries()) reply(valid?.[index] ?? null);
    }
    this.#movingSince = null;
  }

  /** Repeats the same moves until their outcome is known. @returns null = they were not done. */
  async #carry(moves: readonly LeaseMove[], epoch: number): Promise<readonly Grant[] | null> {
    for (;;) {
      try {
        return (await this.#deps.move(moves, epoch)).grants;
      } catch (error) {
        if (epoch !== this.#epoch) return null;
        if (!this.#deps.isUncertain(error)) {
          // An amount to be returned is already removed from memory, and is returned with the next transaction.
          this.#outgoing = [...moves.filter(({ type }) => type === 'give-back'), ...this.#outgoing];
          if (this.#outgoing.length > 0) this.#deps.after(retryMs, () => void this.#pump());
          return null;
        }
        await new Promise<void>((resolve) => this.#deps.after(retryMs, resolve));
      }
    }
  }
}
