/** Conversations that sockets continue: for each socket all that its last response was made of, and the response itself. Bounded over all sockets of one relay; the oldest leave first. */

/** Of the items of one conversation, as the text of a JSON list without its brackets. */
interface Kept {
  readonly responseId: string;
  readonly items: Buffer;
}

/** Bytes that one relay keeps for all its sockets. */
const keptLimit = 32 * 1024 * 1024;

export class KeptInputs {
  private readonly bySocket = new Map<object, Kept>();
  private held = 0;

  constructor(private readonly limit: number = keptLimit) {}

  /** Bytes that are kept now. */
  get bytes(): number {
    return this.held;
  }

  /** In the place of what the socket had. What alone is more than the limit is not kept. */
  put(socket: object, responseId: string, items: string): void {
    this.drop(socket);
    const kept = { responseId, items: Buffer.from(items) };
    if (kept.items.length > this.limit) return;
    this.bySocket.set(socket, kept);
    this.held += kept.items.length;
    for (const oldest of this.bySocket.keys()) {
      if (this.held <= this.limit) return;
      this.drop(oldest);
    }
  }

  /** @returns the items; null = the socket's last response is another one, or is kept no more. */
  find(socket: object, responseId: string): string | null {
    const kept = this.bySocket.get(socket);
    if (kept === undefined || kept.responseId !== responseId) return null;
    this.bySocket.delete(socket);
    this.bySocket.set(socket, kept);
    return kept.items.toString('utf8');
  }

  drop(socket: object): void {
    const kept = this.bySocket.get(socket);
    if (kept === undefined) return;
    this.bySocket.delete(socket);
    this.held -= kept.items.length;
  }
}
