/** What is asked for without a body: a conversation, or after work that was ordered before. */
import { commonProtocol } from '../../protocols/registry.ts';
import type { Inquiry } from './inquiry.ts';
import { noPrompt } from './prompt.ts';
import type { Operation } from './routes.ts';

export interface BareFacts {
  readonly requestId: string;
  readonly startedMs: number;
  readonly operation: Operation;
  readonly model?: string;
}

export const inquiryFor = (request: Request, { model = '', operation, ...facts }: BareFacts): Inquiry => ({
  ...facts,
  route: { path: new URL(request.url).pathname, protocol: commonProtocol, operation },
  protocol: commonProtocol,
  operation,
  model,
  stream: operation === 'realtime',
  json: null,
  form: null,
  body: {},
  prompt: noPrompt,
  request,
});
