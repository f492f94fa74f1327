/** Where an answer of HTTP/1.1 ends, found with as little work as possible: from peers of this machine, which state a length or send chunks. */

const nothing = Buffer.alloc(0);
const endOfHead = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');
/** Enough to see how a body ends. */
const tailBytes = 64;
/** Bytes still to come: the head is incomplete, or the body comes in chunks. */
const [inHead, inChunks] = [-1, -2];

export class Answer {
  private left = inHead;
  /** What may belong to the next piece: an incomplete head, or the end of a body. */
  private rest: Buffer = nothing;
  /** Its first line and its headers. */
  head = '';

  /** The next answer begins. */
  begin(): void {
    this.left = inHead;
    this.rest = nothing;
  }

  /** The last bytes of the body. */
  get tail(): Buffer {
    return this.rest;
  }

  /** @returns whether the answer is over. */
  isOver(piece: Buffer): boolean {
    const body = this.left === inHead ? this.readHead(piece) : piece;
    if (body === null) return false;
    if (this.left === inChunks) {
      const end = this.rest.length === 0 ? body : Buffer.concat([this.rest, body]);
      this.rest = end.subarray(-tailBytes);
      return this.rest.subarray(-lastChunk.length).equals(lastChunk);
    }
    this.rest = body.subarray(-tailBytes);
    this.left -= body.length;
    return this.left <= 0;
  }

  /** @returns the part of the piece behind the head, or null while the head is incomplete. */
  private readHead(piece: Buffer): Buffer | null {
    const all = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    const end = all.indexOf(endOfHead);
    if (end < 0) {
      this.rest = all;
      return null;
    }
    this.head = all.toString('latin1', 0, end);
    const length = /content-length: (\d+)/i.exec(this.head);
    this.left = length === null ? inChunks : Number(length[1]);
    this.rest = nothing;
    return all.subarray(end + endOfHead.length);
  }
}
