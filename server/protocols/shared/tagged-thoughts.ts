/** Thoughts that an upstream writes in front of its words, between `<think>` marks, become thoughts again. */
import type { ChatEvent } from '../canonical.ts';

const opening = '<think>';
const closing = '</think>';

/** The longest end of a text that a mark may begin with. */
function partialMarkLength(text: string, mark: string): number {
  for (let length = Math.min(text.length, mark.length - 1); length > 0; length--)
    if (mark.startsWith(text.slice(-length))) return length;
  return 0;
}

/** @returns one change per answer. Blocks behind a thought move up by one place. */
export function taggedThoughts(): (event: ChatEvent) => readonly ChatEvent[] {
  let state: 'before' | 'thinking' | 'trimming' | 'behind' = 'before';
  let text = '';
  /** In front of everything else. */
  let blanks = '';
  let moved = 0;
  let thought = false;
  const eventsOf = (index: number, words: string): ChatEvent[] =>
    words === '' ? [] : [{ type: 'text-delta', index: index + moved, text: words }];

  const pondered = (index: number, words: string): ChatEvent[] => {
    thought ||= words !== '';
    return words === '' ? [] : [{ type: 'reasoning-delta', index, text: words }];
  };

  function think(index: number): ChatEvent[] {
    if (!thought) text = text.trimStart();
    const at = text.indexOf(closing);
    if (at < 0) {
      const words = text.slice(0, text.length - partialMarkLength(text, closing));
      text = text.slice(words.length);
      return pondered(index, words);
    }
    const words = text.slice(0, at);
    text = text.slice(at + closing.length);
    state = 'trimming';
    moved = 1;
    return [
      ...pondered(index, words),
      { type: 'reasoning-end', index, signature: null, redacted: null },
      { type: 'text-start', index: index + moved },
      ...trim(index),
    ];
  }

  /** Blank lines part the thought from the words. */
  function trim(index: number): ChatEvent[] {
    const words = text.trimStart();
    text = '';
    if (words === '') return [];
    state = 'behind';
    return eventsOf(index, words);
  }

  function begin(index: number): ChatEvent[] {
    const words = text.trimStart();
    if (words === '') {
      // Kept beside, so that no blank is looked at twice.
      blanks += text;
      text = '';
      return [];
    }
    if (words.startsWith(opening)) {
      text = words.slice(opening.length);
      state = 'thinking';
      return [{ type: 'reasoning-start', index }, ...think(index)];
    }
    if (opening.startsWith(words)) return [];
    state = 'behind';
    return [{ type: 'text-start', index }, ...eventsOf(index, blanks + text)];
  }

  function end(event: ChatEvent & { type: 'text-end' }): ChatEvent[] {
    const { index } = event;
    const rest = text;
    text = '';
    if (state === 'thinking')
      return [...pondered(index, rest), { type: 'reasoning-end', index, signature: null, redacted: null }];
    if (state === 'before') return [{ type: 'text-start', index }, ...eventsOf(index, blanks + rest), event];
    return [{ ...event, index: index + moved }];
  }

  return (event) => {
    if (!('index' in event)) return [event];
    if (state === 'behind') return [{ ...event, index: event.index + moved }];
    switch (event.type) {
      case 'text-start':
        return [];
      case 'text-delta':
        text += event.text;
        return state === 'before' ? begin(event.index) : state === 'thinking' ? think(event.index) : trim(event.index);
      case 'text-end': {
        const events = end(event);
        state = 'behind';
        return events;
      }
      default:
        return [{ ...event, index: event.index + moved }];
    }
  };
}
