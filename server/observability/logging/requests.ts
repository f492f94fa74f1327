/** Log lines of single requests: by option one for each that ended, else at level debug one for each that failed. */
import type { EndedRequest, RejectedRequest, RequestObserver } from '../../relay/admission/observer.ts';
import type { Log, LogFields } from './log.ts';

const endedFields = ({ parsed, principal, finish, tokens, charged, endedMs }: EndedRequest): LogFields => ({
  request_id: parsed.requestId,
  path: parsed.route.path,
  operation: parsed.operation,
  model: parsed.model,
  upstream_model: finish.upstreamModel === parsed.model ? undefined : finish.upstreamModel,
  user: principal.user.username,
  token: principal.token?.name,
  group: principal.group,
  channel: finish.channel?.id,
  stream: parsed.stream,
  end: finish.endReason,
  failure: finish.failure,
  tries: finish.attempts.length,
  input_tokens: tokens.input,
  output_tokens: tokens.output,
  quota: charged,
  ms: Math.round(endedMs - parsed.startedMs),
  first_byte_ms: finish.firstByteMs === null ? undefined : Math.round(finish.firstByteMs - parsed.startedMs),
});

const loggedPath = ({ requestId, path, request: { method }, code, status, seen }: RejectedRequest): LogFields => ({
  request_id: requestId,
  method,
  path,
  code,
  status,
  model: seen.parsed?.model,
  user: seen.principal?.user.username,
  token: seen.principal?.token?.name,
});

/** @returns null where no lines are wanted. */
export function requestLines(log: Log, access: boolean): RequestObserver | null {
  if (!access && !log.isEnabled('debug')) return null;
  const write = access ? log.info : log.debug;
  return {
    ended(request) {
      const failed = request.finish.endReason !== 'completed';
      if (access || failed) write(failed ? 'request failed' : 'request', endedFields(request));
    },
    rejected: (request) => write('request refused', loggedPath(request)),
  };
}
