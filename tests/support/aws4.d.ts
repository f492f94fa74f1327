/** The part of aws4 that tests use. */
declare module 'aws4' {
  interface Signable {
    service: string;
    region: string;
    method: string;
    path: string;
    headers: Record<string, string>;
  }
  const aws4: {
    sign(
      request: Signable,
      credentials: { accessKeyId: string; secretAccessKey: string },
    ): { headers?: Record<string, string> };
  };
  export default aws4;
}
