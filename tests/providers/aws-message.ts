/** One message of AWS's binary event stream. */
export function awsMessage(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const size = Buffer.alloc(2);
      size.writeUInt16BE(Buffer.byteLength(value));
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), size, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(payload);
  const total = 12 + head.length + body.length + 4;
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(total, 0);
  prelude.writeUInt32BE(head.length, 4);
  const sum = (bytes: Buffer): Buffer => {
    const out = Buffer.alloc(4);
    out.writeUInt32BE(Bun.hash.crc32(bytes));
    return out;
  };
  const start = Buffer.concat([prelude, sum(prelude), head, body]);
  return Buffer.concat([start, sum(start)]);
}
