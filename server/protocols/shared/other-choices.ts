/** Reads the choices beside the first one: each by the rules of its dialect, with a reader of its own. */
import type { ChatEvent } from '../canonical.ts';

export interface OtherChoices<Reader> {
  /** @param read feeds the choice to its reader. @param events receives what it says. */
  take(choice: number, read: (reader: Reader) => readonly ChatEvent[], events: ChatEvent[]): void;
  /** What waits in all of them. @param read says what waits in one. */
  held(read: (reader: Reader) => readonly ChatEvent[]): readonly ChatEvent[];
}

/** Said of the whole answer, or of no interest beside it. */
const common: ReadonlySet<ChatEvent['type']> = new Set(['response-start', 'usage', 'finish', 'error']);

export function createOtherChoices<Reader>(create: () => Reader): OtherChoices<Reader> {
  const readers = new Map<number, Reader>();
  return {
    take(choice, read, events) {
      let reader = readers.get(choice);
      if (reader === undefined) {
        reader = create();
        readers.set(choice, reader);
      }
      for (const event of read(reader))
        if (!common.has(event.type)) events.push({ type: 'other-choice', choice, event });
    },
    held: (read) =>
      [...readers].flatMap(([choice, reader]) =>
        read(reader).map((event): ChatEvent => ({ type: 'other-choice', choice, event })),
      ),
  };
}
