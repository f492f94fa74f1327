/** All sockets for responses of one relay: how many there may be, and what they keep. */
import { KeptInputs } from './kept-input.ts';
import { ResponsesSocket, type ResponsesSocketDeps } from './responses-socket.ts';

/** An agent has one for each of its conversations under way; whoever wants more gets on over HTTP. */
const maxPerUser = 200;
/** Idle ones take no more than 64 KB each. */
const maxSockets = 4000;

export class ResponsesSockets {
  readonly kept = new KeptInputs();
  readonly #open = new Set<ResponsesSocket>();
  readonly #byUser = new Map<number, number>();
  #isLeaving = false;

  get count(): number {
    return this.#open.size;
  }

  /** @param opening the request that becomes a socket. @returns null where there are too many, or the server goes. */
  open(
    userId: number,
    opening: Pick<Request, 'url' | 'headers'>,
    deps: Omit<ResponsesSocketDeps, 'kept' | 'over'>,
  ): ResponsesSocket | null {
    const own = this.#byUser.get(userId) ?? 0;
    if (this.#isLeaving || own >= maxPerUser || this.#open.size >= maxSockets) return null;
    const over = (ended: ResponsesSocket): void => {
      this.#open.delete(ended);
      const left = (this.#byUser.get(userId) ?? 1) - 1;
      if (left > 0) this.#byUser.set(userId, left);
      else this.#byUser.delete(userId);
    };
    const socket = new ResponsesSocket({ ...deps, kept: this.kept, over }, opening);
    this.#open.add(socket);
    this.#byUser.set(userId, own + 1);
    return socket;
  }

  /** The server goes: idle ones end now, the others with their turn. */
  leave(): void {
    this.#isLeaving = true;
    for (const socket of [...this.#open]) socket.leave();
  }
}
