import { expect, test } from 'vitest';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { networkWords } from '../../server/contract/network-words.ts';
import { freePort, portError } from '../../server/threads/relay/free-port.ts';

const coded = (code: string) => Object.assign(new Error('runtime words about https://hooks.example/secret'), { code });

test.each([
  [coded('ECONNREFUSED'), 'connection refused', '连接被拒绝'],
  [new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'could not be resolved', '无法解析主机名'],
  [new DOMException('The operation timed out.', 'TimeoutError'), 'no answer in time', '超时'],
  [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'certificate failed', '证书'],
  [coded('ECONNRESET'), 'broke off', '连接中断'],
  [new TypeError('fetch() URL is invalid'), 'no valid address', '地址无效'],
  [new TypeError('whatever'), 'the connection failed', '连接失败'],
])('why an address could not be reached: %s', (error, en, zh) => {
  const words = networkWords(error);
  expect(words.en).toContain(en);
  expect(words.zh).toContain(zh);
  expect(JSON.stringify(words)).not.toMatch(/secret|TypeError|typo/);
});

test('an error that may have a reason is a whole sentence without one', () => {
  expect(formatError('upstream_key', {}, 'en')).toBe(
    'The upstream rejected the channel key. Contact the administrator',
  );
  expect(formatError('upstream_key', {}, 'zh')).toBe('上游拒绝了渠道密钥，请联系管理员');
});

test('an address that is not this machine’s, and an unknown host, are refused with host, port and reason', () => {
  for (const host of ['10.255.255.254', 'no-such-host.invalid']) {
    const rejected = (() => {
      try {
        return freePort(host, 39_999);
      } catch (error) {
        return error;
      }
    })();
    expect(rejected).toBeInstanceOf(AppError);
    const { code, params, row } = rejected as AppError;
    expect({ code, exit: row.exit }).toEqual({ code: 'listen_refused', exit: 6 });
    expect(formatError(code, params, 'en')).toMatch(new RegExp(`^Cannot listen on ${host}:39999: \\w`));
    expect(formatError(code, params, 'zh')).toMatch(new RegExp(`^无法监听 ${host}:39999：\\p{Script=Han}`, 'u'));
  }
});

test('a port below 1024 without the right to it, and a port that is taken', () => {
  const rejected = portError(coded('EACCES'), '0.0.0.0', 80) as AppError;
  expect(formatError(rejected.code, rejected.params, 'en')).toContain('permission denied (ports below 1024');
  expect(portError(coded('EADDRINUSE'), '0.0.0.0', 80)).toMatchObject({ code: 'port_taken', params: { port: 80 } });
  const other = new Error('something else');
  expect(portError(other, '0.0.0.0', 80)).toBe(other);
});
