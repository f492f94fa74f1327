/** Messages of AWS's event stream, as https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html lays them out: lengths, checksum, headers, payload, checksum. */
import { crc32 } from 'node:zlib';

const stringKind = 7;

function headerBytes(name: string, value: string): Buffer {
  const head = Buffer.alloc(name.length + 4);
  head.writeUInt8(name.length, 0);
  head.write(name, 1, 'latin1');
  head.writeUInt8(stringKind, name.length + 1);
  head.writeUInt16BE(Buffer.byteLength(value), name.length + 2);
  return Buffer.concat([head, Buffer.from(value)]);
}

export function awsMessage(headers: Readonly<Record<string, string>>, payload: unknown): Uint8Array {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => headerBytes(name, value)));
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const whole = Buffer.concat([prelude, head, body, Buffer.alloc(4)]);
  whole.writeUInt32BE(crc32(whole.subarray(0, -4)), whole.length - 4);
  return new Uint8Array(whole);
}

export const awsEvent = (type: string, payload: unknown): Uint8Array =>
  awsMessage({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }, payload);

export const awsException = (type: string, message: string): Uint8Array =>
  awsMessage(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    { message },
  );

export const awsStream = 'application/vnd.amazon.eventstream';
