/** Why an address could not be reached, in words: the runtime's own speak to programmers and may repeat the address. */
import type { Issue } from './option-kinds.ts';

const words: readonly (readonly [RegExp, Issue])[] = [
  [/REFUSED|Refused/, { zh: '连接被拒绝，该地址没有服务', en: 'connection refused: nothing listens at that address' }],
  [/ENOTFOUND|EAI_|DNS/i, { zh: '无法解析主机名', en: 'the host name could not be resolved' }],
  [/Timeout|ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|Abort/, { zh: '超时，没有应答', en: 'no answer in time' }],
  [
    /CERT|TLS|SSL|EPROTO|SELF_SIGNED|ISSUER/,
    { zh: 'TLS 证书或握手失败', en: 'the TLS handshake or certificate failed' },
  ],
  [/EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL/, { zh: '网络不可达', en: 'the network cannot reach that address' }],
  [/ECONNRESET|EPIPE|Closed|SOCKET/i, { zh: '连接中断', en: 'the connection broke off' }],
  [/ERR_INVALID_URL|InvalidURL|INVALID_ARG/, { zh: '地址无效', en: 'that is no valid address' }],
  [/ENOENT/, { zh: '服务未运行', en: 'no server is running there' }],
];

/** Codes and names of an error and of what caused it. */
function namesOf(error: unknown): string[] {
  const names: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++)
    names.push(
      String((at as { code?: unknown }).code ?? ''),
      at.name,
      /URL is invalid/i.test(at.message) ? 'InvalidURL' : '',
    );
  return names;
}

/** The innermost cause says most. */
export function networkWords(error: unknown): Issue {
  for (const name of namesOf(error).toReversed())
    for (const [pattern, issue] of words) if (pattern.test(name)) return issue;
  return { zh: '连接失败', en: 'the connection failed' };
}
