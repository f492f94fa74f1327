/** Orders interleaved blocks one after another, for dialects that stream one block at a time. */
import type { ChatEvent } from '../canonical.ts';

export interface OneAtATime {
  /** @returns what is to be emitted now, in order. */
  next(event: ChatEvent): readonly ChatEvent[];
  /** What still waits, when the answer is over. */
  rest(): readonly ChatEvent[];
}

export function oneAtATime(): OneAtATime {
  let open: number | null = null;
  /** Blocks that began while another was open. */
  const waiting = new Map<number, ChatEvent[]>();

  /** Lets those that wait have their turn, until one of them is left open. */
  const advance = (): ChatEvent[] => {
    const found: ChatEvent[] = [];
    for (const [index, events] of waiting) {
      if (open !== null) break;
      waiting.delete(index);
      for (const event of events) found.push(event);
      if (events.at(-1)?.type.endsWith('-end') !== true) open = index;
    }
    return found;
  };

  return {
    next(event) {
      if (!('index' in event)) return [event];
      const { index } = event;
      if (open !== null && open !== index) {
        const events = waiting.get(index);
        if (events !== undefined) events.push(event);
        else if (event.type.endsWith('-start')) waiting.set(index, [event]);
        return [];
      }
      if (!event.type.endsWith('-end')) {
        open = index;
        return [event];
      }
      open = null;
      return [event, ...advance()];
    },
    rest() {
      const found: ChatEvent[] = [];
      while (waiting.size > 0) {
        open = null;
        for (const event of advance()) found.push(event);
      }
      return found;
    },
  };
}
