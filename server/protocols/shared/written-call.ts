/** What a model without tools wrote becomes the call that it was asked for. */
import type { ChatEvent } from '../canonical.ts';

/** @returns one change per answer. */
export function writtenCall(name: string, id: string): (event: ChatEvent) => readonly ChatEvent[] {
  let call: number | null = null;
  return (event) => {
    switch (event.type) {
      case 'text-start':
        if (call !== null) return [];
        call = event.index;
        return [{ type: 'tool-call-start', index: call, id, name }];
      case 'text-delta':
        return call === null ? [event] : [{ type: 'tool-call-delta', index: call, arguments: event.text }];
      case 'text-end':
        return [];
      case 'finish': {
        if (call === null) return [event];
        const { unified } = event.reason;
        const reason = unified === 'stop' ? ({ unified: 'tool_calls', raw: null } as const) : event.reason;
        return [
          { type: 'tool-call-end', index: call },
          { ...event, reason },
        ];
      }
      default:
        return [event];
    }
  };
}
