// @ai-sdk/mcp, whose events come by webhook: it answers the challenge, checks signatures, refreshes, unsubscribes.
import http from 'node:http';
import { createMCPClient, experimental_createMCPEventWebhook } from '@ai-sdk/mcp';
import { say } from './said.mjs';

const [base, token, scope] = process.argv.slice(2);
const kept = new Map();
const store = {
  set: async (each) => void kept.set(each.key, each),
  get: async (key) => kept.get(key),
  getById: async (id) => [...kept.values()].find((each) => each.id === id),
  update: async (key, patch) => void kept.set(key, { ...kept.get(key), ...patch }),
  delete: async (key) => void kept.delete(key),
};
const events = [];
const errors = [];
let posts = 0;
const hook = experimental_createMCPEventWebhook({
  store,
  onEvent: async ({ event }) => void events.push(event.eventId),
  onError: (error) => errors.push(String(error)),
});
const server = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  posts += 1;
  const asked = new Request(`http://127.0.0.1${request.url}`, {
    method: request.method,
    headers: request.headers,
    body: Buffer.concat(parts),
  });
  const answer = await hook(asked);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const headers = { authorization: `Bearer ${token}` };
const client = await createMCPClient({
  transport: { type: 'http', url: `${base}/mcp`, headers },
  experimental_events: { store },
});
const push = async (id) => {
  const body = JSON.stringify({ scope, id, name: 'user.said', text: 'look here' });
  await fetch(`${base}/v1/ingest`, { method: 'POST', headers, body });
};
const until = async (condition) => {
  const deadline = Date.now() + 30_000;
  while (!condition() && Date.now() < deadline) await new Promise((done) => setTimeout(done, 50));
};
const url = `http://127.0.0.1:${server.address().port}/hook`;
const made = await client.experimental_events.subscribe({
  name: 'attention.decision',
  arguments: { scope },
  delivery: { mode: 'webhook', url, allowInsecureLocalhost: true },
  ttlMs: 3_600_000,
});
say('challenges', posts);
await push('1');
await until(() => events.length === 1);
const again = await client.experimental_events.refresh({ id: made.id });
say('same', again.id === made.id && again.deliveryStatus.active);
await push('2');
await until(() => events.length === 2);
await client.experimental_events.unsubscribe({ id: made.id });
await push('3');
await new Promise((done) => setTimeout(done, 1000));
say('events', events);
say('errors', errors);
await client.close();
process.exit(0);
