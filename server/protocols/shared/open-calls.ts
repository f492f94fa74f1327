/** Calls of a conversation whose results have not come, for dialects in which a result belongs to a call by its name or its place. */

interface OpenCall {
  readonly id: string;
  isOpen: boolean;
}

/** The calls of one id, of one name, or all. What is over is passed once and never looked at again. */
class Queue {
  private readonly calls: OpenCall[] = [];
  private next = 0;

  add(call: OpenCall): void {
    this.calls.push(call);
  }

  /** Ends the first call that is open. @returns its id; null = none is. */
  end(): string | null {
    while (this.calls[this.next]?.isOpen === false) this.next++;
    const call = this.calls[this.next];
    if (call === undefined) return null;
    call.isOpen = false;
    return call.id;
  }
}

export class OpenCalls {
  private readonly all = new Queue();
  private readonly byId = new Map<string, Queue>();
  private readonly byName = new Map<string, Queue>();

  add(id: string, name: string): void {
    const call = { id, isOpen: true };
    this.all.add(call);
    queueOf(this.byId, id).add(call);
    queueOf(this.byName, name).add(call);
  }

  /** The result names its call. */
  endCall(id: string): void {
    this.byId.get(id)?.end();
  }

  /** @param name null = the first of all. @returns the id of the call that a result without one belongs to; null = none is open. */
  endFirst(name: string | null): string | null {
    return (name === null ? this.all : this.byName.get(name))?.end() ?? null;
  }
}

function queueOf(queues: Map<string, Queue>, key: string): Queue {
  const known = queues.get(key);
  if (known !== undefined) return known;
  const queue = new Queue();
  queues.set(key, queue);
  return queue;
}
