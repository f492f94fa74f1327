/** What `gateway doctor --url` and the server agree on for questions from outside. */

/** Whatever follows it is answered too: what a proxy does to paths shows there. */
export const reachPath = '/api/reach';

/** Headers that clients of models send, and whose loss is noticed late: the answer names those that arrived. */
export const reachHeaders = [
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'x-session-id',
  'session_id',
  'upgrade',
] as const;
