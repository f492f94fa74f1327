/** A form is read while it passes: what is too long is refused before it is kept. */
import { expect, test } from 'vitest';
import { scanForm } from '../../server/relay/intake/form-scan.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const maxLength = 16 * 1024;
const head = 'Content-Disposition: form-data; name="model"';

test('headers of a part that never end are refused, and so are those that end too late', () => {
  const rejected = expect.objectContaining({ code: 'body_invalid' });
  const newScan = () => {
    const scan = scanForm('b');
    scan.push(bytes('--b\r\n'));
    return scan;
  };
  const open = newScan();
  open.push(bytes(`${head}\r\nX: ${'a'.repeat(1000)}`));
  expect(() => open.push(bytes('a'.repeat(maxLength)))).toThrow(rejected);
  expect(() => newScan().push(bytes(`${head}\r\nX: ${'a'.repeat(maxLength)}\r\n\r\n`))).toThrow(rejected);
  const whole = newScan();
  whole.push(bytes(`${head}\r\n\r\nm\r\n--b--\r\n`));
  whole.end();
  expect(whole.fields.get('model')).toBe('m');
});

test('an empty line may stand in front of the first boundary, and nothing else', () => {
  const rejected = expect.objectContaining({ code: 'body_invalid' });
  const read = (before: string) => {
    const scan = scanForm('b');
    scan.push(bytes(`${before}--b\r\n${head}\r\n\r\nm\r\n--b--\r\n`));
    scan.end();
    return scan.fields.get('model');
  };
  expect([read(''), read('\r\n')]).toEqual(['m', 'm']);
  for (const before of ['\r\v', '\r\r', '\n', 'x', '\r\n\r\n']) expect(() => read(before)).toThrow(rejected);
});

test('a header of a part that is none is named as what is wrong', () => {
  const scan = scanForm('b');
  const detail = 'a part of the form has a header that cannot be read';
  expect(() => scan.push(bytes(`--b\r\n${head}\r\nnothing\r\n\r\nm\r\n--b--\r\n`))).toThrow(
    expect.objectContaining({ code: 'body_invalid', params: { detail } }),
  );
});
