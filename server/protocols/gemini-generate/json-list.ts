/** A stream as one JSON list that grows: written for clients that did not ask for events, read from upstreams that give none. */
import { AppError } from '../../contract/errors.ts';
import type { StreamTransform } from '../codec.ts';
import { createSseTextSplitter, type Framing, type RawFrame, rawFrame, runOf } from '../shared/sse.ts';

const itemLimit = 64 * 1024 * 1024;
const encoder = new TextEncoder();
const none = new Uint8Array(0);
const quote = 34;
const backslash = 92;
const open = 123;
const close = 125;

/** As an event; blanks between members may be line ends, within texts there are none. */
const frameOf = (item: readonly Uint8Array[]): RawFrame =>
  rawFrame(
    encoder.encode(
      `data: ${Buffer.concat(item)
        .toString('utf8')
        .replace(/[\r\n]+/g, ' ')}\n\n`,
    ),
  );

/** The objects of a list, each as soon as it is whole; an answer that is one object is a list of one. @throws RangeError when one outgrows the limit. */
export function jsonListFraming(): Framing {
  /** What came of an object in earlier chunks. */
  let partial: Uint8Array[] = [];
  let size = 0;
  let depth = 0;
  let quoted = false;
  let escaped = false;
  return {
    advance(chunk) {
      const frames: RawFrame[] = [];
      let start = 0;
      for (let at = 0; at < chunk.length; at++) {
        const code = chunk[at];
        if (escaped) escaped = false;
        else if (quoted && code === backslash) escaped = true;
        else if (code === quote) quoted = !quoted;
        else if (quoted) continue;
        else if (code === open && depth++ === 0) start = at;
        else if (code === close && depth > 0 && --depth === 0) {
          frames.push(frameOf([...partial, chunk.subarray(start, at + 1)]));
          partial = [];
          size = 0;
        }
      }
      if (depth === 0) return runOf(frames);
      partial.push(chunk.slice(start));
      size += chunk.length - start;
      if (size > itemLimit) throw new AppError('upstream_broken', {}, 'item too long');
      return runOf(frames);
    },
    // What is left is no whole object and says nothing.
    end: () => none,
  };
}

function createJsonList(): StreamTransform {
  const splitter = createSseTextSplitter();
  let sent = 0;
  const item = (data: string): string => {
    // What keeps an idle stream of events alive is blank here.
    if (data === '') return '\n';
    return `${sent++ === 0 ? '[' : '\n,'}${data}`;
  };
  return {
    contentType: 'application/json; charset=utf-8',
    listsErrors: true,
    push: (events) =>
      splitter
        .push(events)
        .map(({ data }) => item(data))
        .join(''),
    end() {
      const rest = splitter.end();
      const last = rest === null ? '' : item(rest.data);
      return `${last}${sent === 0 ? '[' : '\n'}]`;
    },
  };
}

/** @param url of the request. Google's own clients say `alt=sse`. */
export function transformFor(url: string): StreamTransform | null {
  const [path = '', query = ''] = url.split('?', 2);
  if (!path.endsWith(':streamGenerateContent')) return null;
  return new URLSearchParams(query).get('alt') === 'sse' ? null : createJsonList();
}
