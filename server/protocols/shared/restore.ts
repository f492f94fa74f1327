/** Gives an answer's tool calls back the names and the kind that the client knows them by. */
import type { ChatEvent, Tool } from '../canonical.ts';
import { bundlePrefix, portableName, unwrapCustom } from './tools.ts';

type Change = (event: ChatEvent) => readonly ChatEvent[];

/**
 * @param tools as the client offered them.
 * @returns makes one change per answer; null when every tool was sent as it is.
 */
export function toolRestorer(tools: readonly Tool[]): (() => Change) | null {
  const names = new Map<string, { readonly name: string; readonly namespace?: string }>();
  const custom = new Set<string>();
  const prefixes = new Map<string, number>();
  const own = (name: string, namespace: string): string => {
    const length = prefixes.get(namespace) ?? bundlePrefix(namespace).length;
    prefixes.set(namespace, length);
    return name.slice(length);
  };
  for (const { name, kind, namespace } of tools) {
    const portable = portableName(name);
    // A client may offer one tool twice.
    if (names.has(portable)) continue;
    if (namespace !== undefined) names.set(portable, { name: own(name, namespace), namespace });
    else if (portable !== name) names.set(portable, { name });
    if (kind === 'custom') custom.add(portable);
  }
  if (names.size === 0 && custom.size === 0) return null;
  return () => {
    /** Arguments of calls that were sent as JSON and are free text for the client: whole only at the end. */
    const wrapped = new Map<number, string>();
    return (event) => {
      switch (event.type) {
        case 'tool-call-start': {
          const free = custom.has(event.name) && event.custom !== true;
          if (free) wrapped.set(event.index, '');
          return [{ ...event, ...names.get(event.name), ...(free ? { custom: true } : {}) }];
        }
        case 'tool-call-delta': {
          const collected = wrapped.get(event.index);
          if (collected === undefined) return [event];
          wrapped.set(event.index, collected + event.arguments);
          return [];
        }
        case 'tool-call-end': {
          const collected = wrapped.get(event.index);
          if (collected === undefined) return [event];
          return [{ type: 'tool-call-delta', index: event.index, arguments: unwrapCustom(collected) }, event];
        }
        default:
          return [event];
      }
    };
  };
}
