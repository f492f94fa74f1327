/** Ports that several listeners share. */
import { AppError } from '../../contract/errors.ts';

/** Several listeners of one user share a port without a word, also with those of another server: this one does not. @throws AppError port_taken. */
export function freePort(host: string, port: number): number {
  try {
    const listener = Bun.listen({ hostname: host, port, socket: { data: () => undefined } });
    const { port: found } = listener;
    listener.stop(true);
    return found;
  } catch (error) {
    throw portError(error, host, port);
  }
}

/** Why an address cannot be listened on, where it is not taken. */
const refusals: Readonly<Record<string, { readonly zh: string; readonly en: string }>> = {
  EACCES: {
    zh: '没有权限（1024 以下的端口需要 root 或 CAP_NET_BIND_SERVICE）',
    en: 'permission denied (ports below 1024 need root or CAP_NET_BIND_SERVICE)',
  },
  EADDRNOTAVAIL: { zh: '该地址不属于本机', en: 'the address does not belong to this machine' },
  ENOTFOUND: { zh: '无法解析主机名', en: 'the host name could not be resolved' },
};

/** The error of a listener in words. The runtime has no code of its own for a host that cannot be resolved. */
export function portError(error: unknown, host: string, port: number): unknown {
  const { code = '', message = '' } = (error ?? {}) as { readonly code?: string; readonly message?: string };
  if (code === 'EADDRINUSE') return new AppError('port_taken', { port }, error);
  if (refusals[code] === undefined && !/listen/i.test(message)) return error;
  const { zh, en } = refusals[code] ?? {
    zh: '该主机名或地址不能在本机监听',
    en: 'this machine cannot listen on that host name or address',
  };
  return new AppError('listen_refused', { host, port, reason: en, reason_zh: zh, reason_en: en }, error);
}
