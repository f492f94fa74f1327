/** Answers of an upstream that speaks Responses, as OpenAI streams them. */
import type { ServerResponse } from 'node:http';
import type { Received, Script } from './upstream.ts';

type Item = Readonly<Record<string, unknown>>;

export const message = (id: string, text: string): Item => ({
  id,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

export interface ResponseOptions {
  readonly output?: readonly Item[];
  readonly input?: number;
  readonly outputTokens?: number;
  readonly status?: 'completed' | 'incomplete';
}

/** The events of one response. */
export function responseEvents(id: string, options: ResponseOptions = {}): readonly Item[] {
  const {
    output = [message(`msg_${id}`, 'hello world')],
    input = 10,
    outputTokens = 5,
    status = 'completed',
  } = options;
  const response = { id, object: 'response', created_at: 1, model: 'gpt-4o-mini', status: 'in_progress', output: [] };
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + outputTokens,
  };
  return [
    { type: 'response.created', response },
    ...output.flatMap((item, at) => [
      { type: 'response.output_item.added', output_index: at, item: { ...item, content: [] } },
      {
        type: 'response.output_text.delta',
        output_index: at,
        content_index: 0,
        item_id: item.id,
        delta: 'hello world',
      },
      { type: 'response.output_item.done', output_index: at, item },
    ]),
    { type: `response.${status}`, response: { ...response, status, output, usage } },
  ];
}

export const sse = (event: Item): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** Streams a response in one piece. */
export function streamResponse(response: ServerResponse, id: string, options?: ResponseOptions): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(responseEvents(id, options).map(sse).join(''));
}

/** Answers each request with the next id. */
export function numbered(prefix = 'resp'): Script {
  let at = 0;
  return (response) => streamResponse(response, `${prefix}_${++at}`);
}

export const bodyOf = ({ body }: Received): Record<string, unknown> =>
  JSON.parse(body.toString('utf8')) as Record<string, unknown>;
