/** The stream for clients that did not ask for events: one JSON list that grows. */
import type { Reshape } from '../codec.ts';
import { createSseTextSplitter } from '../shared/sse.ts';

function createJsonList(): Reshape {
  const splitter = createSseTextSplitter();
  let told = 0;
  const item = (data: string): string => {
    // What keeps an idle stream of events alive is blank here.
    if (data === '') return '\n';
    return `${told++ === 0 ? '[' : '\n,'}${data}`;
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
      return `${last}${told === 0 ? '[' : '\n'}]`;
    },
  };
}

/** @param url of the request. Google's own clients say `alt=sse`. */
export function reshapeFor(url: string): Reshape | null {
  const [path = '', query = ''] = url.split('?', 2);
  if (!path.endsWith(':streamGenerateContent')) return null;
  return new URLSearchParams(query).get('alt') === 'sse' ? null : createJsonList();
}
