/** Errors of a socket for responses, in OpenAI's words: clients decide by their codes whether they send all again, open another socket or go on without one. https://developers.openai.com/api/docs/guides/websocket-mode */

interface FrameError {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
}

const frame = (error: FrameError, stream: string | null = null): string =>
  JSON.stringify({
    type: 'error',
    status: 400,
    ...(stream === null ? {} : { stream_id: stream }),
    error: { type: 'invalid_request_error', ...error },
  });

export const notFound = (id: string): Required<FrameError> => ({
  code: 'previous_response_not_found',
  message: `Previous response with id '${id}' not found.`,
  param: 'previous_response_id',
});

export const previousNotFound = (id: string): string => frame(notFound(id));

export const connectionLimit = frame({
  code: 'websocket_connection_limit_reached',
  message: 'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
});

export const alreadyActive = frame({
  code: 'conversation_already_has_active_response',
  message:
    'Conversation already has an active response in progress. Wait until the response is finished before creating a new one.',
});

const streamForm = /^[\w.-]{1,256}$/;

/** One conversation a socket: names of others are refused as the last of too many. */
export const streamRefused = (stream: unknown): string =>
  typeof stream === 'string' && streamForm.test(stream)
    ? frame(
        {
          code: 'websocket_stream_limit_reached',
          message:
            'This WebSocket connection has reached its maximum number of distinct stream IDs (0). Leave stream_id out and open a new WebSocket connection for each conversation.',
          param: 'stream_id',
        },
        stream,
      )
    : frame({
        code: 'invalid_stream_id',
        message:
          "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, underscores, hyphens, and periods.",
        param: 'stream_id',
      });

export const eventRefused = (type: string): string =>
  frame({
    code: 'invalid_value',
    message: `Invalid value: '${type}'. Supported values are: 'response.create'.`,
    param: 'type',
  });
