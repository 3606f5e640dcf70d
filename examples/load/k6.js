// A load test with k6 that fails if the timing of the mock cannot be trusted:
//
//   mockserver -c examples/tasks.yml --admin 127.0.0.1:8001
//   k6 run examples/load/k6.js
//
// k6 exits 99 if a threshold does not hold: mock_trusted is the verdict of the run.
import http from 'k6/http';
import { check, fail } from 'k6';
import { Rate } from 'k6/metrics';

const mock = __ENV.MOCK_URL || 'http://127.0.0.1:8000';
const admin = __ENV.MOCKSERVER_ADMIN_URL || 'http://127.0.0.1:8001';

export const options = {
  scenarios: {
    // Open: a slow server does not get fewer requests.
    tasks: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE || 100),
      timeUnit: '1s',
      duration: __ENV.DURATION || '30s',
      preAllocatedVUs: 50,
    },
  },
  thresholds: {
    mock_trusted: ['rate==1'],
    checks: ['rate==1'],
    dropped_iterations: ['count==0'], // otherwise k6 itself was too slow
  },
};

const trusted = new Rate('mock_trusted');

function ask(method, path, body) {
  const response = http.request(method, `${admin}/__admin${path}`, body && JSON.stringify(body), {
    headers: { Authorization: `Bearer ${__ENV.MOCKSERVER_ADMIN_TOKEN || ''}`, 'Content-Type': 'application/json' },
    tags: { name: 'admin' },
  });
  if (response.status >= 300 || response.status === 0) {
    fail(`${method} ${path} was answered ${response.status} ${response.body || response.error}`);
  }
  return response.json();
}

export function setup() {
  return { run: ask('POST', '/runs', { name: 'k6, tasks' }).id };
}

export default function () {
  const response = http.get(`${mock}/tasks/7`);
  check(response, { 'is task 7': (r) => r.status === 200 && r.json('id') === 7 });
}

export function teardown(data) {
  const report = ask('POST', `/runs/${data.run}/stop`);
  trusted.add(report.verdict.trusted);
  console.log(`${report.total.requests} requests. ${report.verdict.text}`);
  console.log(`the report: ${admin}/__admin/runs/${data.run}/report`);
}
